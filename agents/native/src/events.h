#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fork_generation.h"
#include "stall_tracker.h"

namespace adocd {

struct Event {
  uint64_t sequence = 0;
  double monotonic_s = 0;
  const char* kind = "";
  std::string column_family;
  std::optional<int64_t> job;
  const char* reason = nullptr;
  std::optional<uint64_t> bytes, read_bytes, written_bytes;
  std::optional<int> base_level, output_level;
  std::optional<double> elapsed_s;
  std::optional<uint64_t> waiting;
  const char* condition = nullptr;
  const char* previous = nullptr;
  std::string detail;
};

// Counters that the agent keeps from listener events (RocksDB itself only has them in Statistics).
struct JobCounters {
  uint64_t flushes = 0;
  uint64_t flush_written_bytes = 0;
  uint64_t compactions = 0;
  uint64_t compaction_read_bytes = 0;
  uint64_t compaction_written_bytes = 0;
};

// The kinds of events that a client can wait for, as bits.
enum AwaitedKind : unsigned { kNoKind = 0, kStallEvents = 1, kMemtableEvents = 2 };
// The bit of this kind; kNoKind if nobody can wait for it.
AwaitedKind AwaitedKindOf(std::string_view kind);

// The events of one session: a ring buffer of them, the stall condition and the job counters. Listener callbacks write
// to it on RocksDB's threads, so every method is short and allocates little, and the only thing that it calls is what a
// waiting client has left, once, to be woken.
class SessionEvents {
 public:
  static constexpr size_t kRingSize = 4096;

  SessionEvents();

  // False in a forked child and after the end of the session; then callers must not even take the lock.
  bool active() const { return active_.load(std::memory_order_acquire) && InThisProcess(); }
  bool InThisProcess() const { return generation_ == g_fork_generation.load(std::memory_order_acquire); }
  // Also wakes the waiting clients.
  void Deactivate();

  void Add(Event event);
  void FlushBegun(Event event);
  void FileCreatedByFlush(const std::string& path, uint64_t bytes);
  // `largest_seqno` is the newest write in the flushed memtables.
  void FlushEnded(Event event, const std::string& path, uint64_t largest_seqno);
  // A full memtable, whose oldest write is `first_seqno`, was replaced by an empty one.
  void MemtableSealed(const std::string& column_family, uint64_t first_seqno);
  void CompactionEnded(Event event, bool ok);
  void StallChanged(const std::string& column_family, StallCondition previous, StallCondition current);
  void ColumnFamilyDropped(const std::string& column_family);
  void ColumnFamilyCreated(const std::string& column_family);

  StallTotals Stall(double now_s) const;
  // Takes the stall condition that RocksDB's properties show now.
  void StallSampled(StallCondition condition, double now_s);
  JobCounters Counters() const;
  uint64_t last_sequence() const;
  // Returns the events after number `after`, and how many of them the ring no longer has.
  std::vector<std::shared_ptr<const Event>> After(uint64_t after, uint64_t* lost) const;
  // The time of the newest event that clients can wait for; 0 before the first.
  double newest_awaited_s() const;

  // Calls `wake` once, when there is an event of one of these kinds (bits of AwaitedKind) after number `after`, or the
  // session ends; at once if that is so already. It may run on a thread of RocksDB, which it must not hold up. Returns
  // a number for EndWait.
  uint64_t Await(uint64_t after, unsigned kinds, std::function<void()> wake);
  void EndWait(uint64_t number);

 private:
  struct Waiter {
    unsigned kinds;
    std::function<void()> wake;
  };
  void AddLocked(Event event);
  void WakeLocked(unsigned kinds);

  const uint32_t generation_;
  std::atomic<bool> active_{true};
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<const Event>> ring_;
  uint64_t last_sequence_ = 0;
  uint64_t last_stall_ = 0, last_memtable_ = 0;  // numbers of the newest event of each awaited kind
  double newest_awaited_s_ = 0;
  std::map<uint64_t, Waiter> waiters_;
  uint64_t last_waiter_ = 0;
  // The oldest write of each memtable that waits for its flush, by column family, oldest first.
  std::unordered_map<std::string, std::deque<uint64_t>> sealed_;
  StallTracker stall_;
  JobCounters counters_;
  std::unordered_map<int64_t, double> flush_begun_s_;
  std::unordered_map<std::string, uint64_t> flush_file_bytes_;
};

}  // namespace adocd
