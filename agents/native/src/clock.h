#pragma once
#include <ctime>

namespace adocd {

// Seconds of CLOCK_MONOTONIC, the only clock in the protocol.
inline double MonotonicSeconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace adocd
