// SIGTERM and SIGINT: blocked in all threads, and polled by the main thread.
#pragma once

#include <signal.h>
#include <time.h>

#include "clock.h"

namespace adocd::load {

class Signals {
 public:
  // Must be created before any other thread, because threads inherit the mask.
  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }

  // Waits for a signal for `ns`; returns at once, with true, if one was received before.
  bool Wait(uint64_t ns) {
    const timespec time = {static_cast<time_t>(ns / kNsPerS), static_cast<long>(ns % kNsPerS)};
    if (signal_ == 0) {
      const int received = sigtimedwait(&set_, nullptr, &time);
      if (received > 0) signal_ = received;
    }
    return signal_ != 0;
  }

  // The number of the signal that was received, else 0.
  int received() const { return signal_; }

 private:
  sigset_t set_;
  int signal_ = 0;
};

}  // namespace adocd::load
