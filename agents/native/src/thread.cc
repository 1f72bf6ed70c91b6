#include "thread.h"

#include <csignal>
#include <pthread.h>

namespace adocd {

std::thread StartThread(const char* name, std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread([name, body = std::move(body)] {
      pthread_setname_np(pthread_self(), name);
      body();
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace adocd
