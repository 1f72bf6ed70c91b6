// CLOCK_MONOTONIC in nanoseconds: the clock of intended start times, latencies and the daemon's samples.
#pragma once

#include <time.h>

#include <cstdint>

namespace adocd::load {

constexpr uint64_t kNsPerS = 1'000'000'000;

inline uint64_t Nanoseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerS + static_cast<uint64_t>(now.tv_nsec);
}

inline uint64_t NowNs() { return Nanoseconds(CLOCK_MONOTONIC); }

inline void SleepUntil(uint64_t at_ns) {
  const timespec at = {static_cast<time_t>(at_ns / kNsPerS), static_cast<long>(at_ns % kNsPerS)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
}

}  // namespace adocd::load
