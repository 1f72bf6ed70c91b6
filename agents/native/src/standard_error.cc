#include "standard_error.h"

#include <cerrno>
#include <csignal>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

namespace adocd {
namespace {

struct stat g_at_load;
bool g_was_open = false;

// Before main, so before the host could open a database.
__attribute__((constructor)) void Remember() { g_was_open = fstat(STDERR_FILENO, &g_at_load) == 0; }

bool IsStillTheSame() {
  struct stat now;
  return g_was_open && fstat(STDERR_FILENO, &now) == 0 && now.st_dev == g_at_load.st_dev &&
         now.st_ino == g_at_load.st_ino;
}

}  // namespace

void SayOnStandardError(const std::string& line) noexcept {
  const int error = errno;
  if (IsStillTheSame()) {
    sigset_t pipe, before, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    sigpending(&pending);
    const bool hosts_own = sigismember(&pending, SIGPIPE) == 1;
    if (write(STDERR_FILENO, line.data(), line.size()) < 0 && errno == EPIPE && !hosts_own) {
      const timespec at_once{};
      while (sigtimedwait(&pipe, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  errno = error;
}

}  // namespace adocd
