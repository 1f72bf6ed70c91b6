#include "thread.h"

#include <csignal>
#include <pthread.h>

namespace adocd {

std::thread StartThread(const char* name, std::function<void()> body) {
  sigset_t blocked, before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  sigfillset(&blocked);
  // A change can let RocksDB start threads of its pools, which inherit this mask and keep it.
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF}) {
    if (sigismember(&before, signal) == 0) sigdelset(&blocked, signal);
  }
  pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
  try {
    std::thread thread([name, body = std::move(body)] {
      pthread_setname_np(pthread_self(), name);
      try {
        body();
      } catch (...) {
        // Our thread ends, the host does not: what leaves a std::thread ends the process.
      }
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace adocd
