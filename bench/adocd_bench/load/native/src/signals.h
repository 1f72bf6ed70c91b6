// SIGTERM and SIGINT: blocked in all threads, asked for by the main one.
#pragma once

#include <signal.h>
#include <time.h>

#include "clock.h"

namespace adocd::load {

class Signals {
 public:
  // Before any other thread is started, for those inherit the mask.
  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }

  // Wait that long; true as soon as one was sent, now or before.
  bool Wait(uint64_t ns) {
    const timespec time = {static_cast<time_t>(ns / kNsPerS), static_cast<long>(ns % kNsPerS)};
    if (signal_ == 0) {
      const int received = sigtimedwait(&set_, nullptr, &time);
      if (received > 0) signal_ = received;
    }
    return signal_ != 0;
  }

  // The one that was sent, else 0.
  int received() const { return signal_; }

 private:
  sigset_t set_;
  int signal_ = 0;
};

}  // namespace adocd::load
