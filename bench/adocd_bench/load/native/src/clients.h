// The clients of a phase: threads that take the next operation and execute it.
//
// Open loop: an operation starts at its intended time, or later as soon as a client is free. A stall delays the
// operations behind it, and their delay counts as queueing. A client that plans its next operation only after the last
// one returned would not measure that delay (coordinated omission: G. Tene, wrk2 and HdrHistogram; Luo and Carey, VLDB
// 2019, section 3.2). Closed loop: a client starts its next operation when the last one has returned.
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
  // All arguments must outlive this object.
  Clients(const Spec& spec, size_t phase, const Database& database, Inserted* inserted);
  ~Clients();

  void Start();
  void Stop() { stop_ = true; }
  bool AllEnded() const { return running_ == 0; }

  // Waits for all clients and adds up their counts, with the operations that were due but never started. Throws Failed
  // with the first error.
  Tallies Collect();

  uint64_t begin_ns() const { return begin_ns_; }
  // When the last operation returned; in an open loop that was not stopped, at least the end of the steps.
  uint64_t end_ns() const { return end_ns_; }

 private:
  // Aligned so that no two threads write to the same cache line.
  struct alignas(kCacheLine) Client {
    Tally tally;
    std::thread thread;
    uint64_t held = 0;  // the operation that it took but did not start
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
