#pragma once
#include <atomic>
#include <cstdint>
#include <ctime>
#include <string>

#include "latency_histogram.h"

namespace adocd::write_timing {

// How long the host's writes take. Every write reads the kernel's coarse clock before and after, for some 8 ns
// together; one in kOneIn, at random, reads the exact clock and counts for kOneIn. A write that took kSlowNs or more
// by the coarse clock always counts, once, so that the worst is never missed: which writes are slow is decided by the
// same clock for all, so no latency is counted twice. The coarse clock is exact to a tick of the kernel (1 to 10 ms).
constexpr uint32_t kOneIn = 8;
constexpr int64_t kSlowNs = 20'000'000;

// ADOCD_AGENT_LATENCY: on (default) or off.
std::string Wish();

// Begins to time the writes of `db`; null when there are too many databases. The histogram lives as long as the
// process, because a write may end late; after End another database may get it.
LatencyHistogram* Begin(const void* db);
void End(const void* db);

// --- In the host's write, so no call that may allocate or block.

// Databases that are timed now.
extern std::atomic<int> g_databases;

struct Thread {
  uint32_t passed_by;  // writes that are still to pass before the next that is timed exactly
  uint32_t random;     // xorshift32; 0: not yet seeded
};
extern __thread Thread t_thread;  // not thread_local, which asks at each use whether it is constructed

inline int64_t Nanoseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Whether this write is one of the sample, asked when none is left to pass by. Random, because a host whose writes
// repeat in a pattern must not meet the sampler in step, and because a thread may write only once.
bool Due(Thread* thread);
void Count(const void* db, int64_t ns, uint32_t times);

// Times the write within its scope.
class Timer {
 public:
  explicit Timer(const void* db) : db_(g_databases.load(std::memory_order_relaxed) > 0 ? db : nullptr) {
    if (!db_) return;
    coarse_ = Nanoseconds(CLOCK_MONOTONIC_COARSE);
    if (__builtin_expect(t_thread.passed_by != 0, 1)) {
      --t_thread.passed_by;
    } else if (Due(&t_thread)) {
      exact_ = Nanoseconds(CLOCK_MONOTONIC);
    }
  }
  ~Timer() {
    if (!db_) return;
    const int64_t coarse_ns = Nanoseconds(CLOCK_MONOTONIC_COARSE) - coarse_;
    const bool slow = coarse_ns >= kSlowNs;
    if (__builtin_expect(!slow && exact_ == 0, 1)) return;
    Count(db_, exact_ ? Nanoseconds(CLOCK_MONOTONIC) - exact_ : coarse_ns, slow ? 1 : kOneIn);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  const void* const db_;
  int64_t coarse_ = 0;
  int64_t exact_ = 0;  // 0: not one of the sample
};

}  // namespace adocd::write_timing
