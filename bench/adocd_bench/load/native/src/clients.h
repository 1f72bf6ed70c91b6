// The clients of a phase: threads which take the next operation and carry it out.
//
// Open loop: an operation starts at its intended time, or as soon after it as a client is free. A stall so makes the
// operations behind it late, and their lateness counts (queueing); a client that waits for an answer before it thinks
// of its next operation would leave them out (coordinated omission: G. Tene, wrk2 and HdrHistogram; Luo and Carey,
// VLDB 2019, section 3.2). Closed loop: a client starts its next operation when the last has returned.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "database.h"
#include "keys.h"
#include "spec.h"
#include "tally.h"

namespace adocd::load {

constexpr size_t kCacheLine = 64;

class Clients {
 public:
  // `inserted` outlives them, as all else that is given.
  Clients(const Spec& spec, size_t phase, const Database& database, Inserted* inserted);
  ~Clients();

  void Start();
  void Stop() { stop_ = true; }
  bool AllEnded() const { return running_ == 0; }

  // Once all have ended: what they counted, and what was due and never started. Throws Failed with the first error.
  Tallies Collect();

  uint64_t begin_ns() const { return begin_ns_; }
  // When the last operation returned; in the open loop, not before the steps are over, unless it was stopped.
  uint64_t end_ns() const { return end_ns_; }

 private:
  // What one thread writes often is in no other's cache line.
  struct alignas(kCacheLine) Client {
    Tally tally;
    std::thread thread;
    uint64_t held = 0;  // the operation that it took and did not start
  };

  void Run(Client* client);
  void RunOpen(Client* client);
  void RunClosed(Client* client);
  uint64_t Take(Client* client) { return client->held = next_.fetch_add(1, std::memory_order_relaxed); }
  bool WaitUntil(uint64_t at_ns) const;
  // Throws Failed.
  void Carry(uint64_t number, uint64_t intended_ns, uint64_t call_ns, Client* client);
  void CountNotStarted(Tallies* tallies);
  Kind KindOf(uint64_t number) const { return Choose(phase_.weights, Stream(seed_, number).Unit()); }
  Arrivals MakeArrivals() const { return {phase_.open->steps, phase_.open->poisson, Mix(seed_)}; }

  const Phase& phase_;
  const Database& database_;
  Inserted* inserted_;
  uint64_t seed_;
  KeyChooser chooser_;
  std::vector<Client> clients_;
  alignas(kCacheLine) std::atomic<uint64_t> next_{0};
  alignas(kCacheLine) std::atomic<size_t> running_{0};
  std::atomic<bool> stop_{false};
  std::mutex error_mutex_;
  std::string error_;
  uint64_t begin_ns_ = 0;
  uint64_t end_ns_ = 0;
};

}  // namespace adocd::load
