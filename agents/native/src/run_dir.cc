#include "run_dir.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "accounts.h"
#include "environment.h"
#include "fork_generation.h"
#include "open_sockets.h"

namespace adocd {
namespace {

constexpr const char* kSystemDirectory = "/run/adocd";
constexpr int kBacklog = 64;
constexpr int kMaxNames = 100;

// Sets the mode of a socket to 0660, and of nothing else: others may write to the directory and replace it by a link.
bool OpenToTheGroup(const std::string& path) {
  const int fd = open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat status{};
  const std::string same = "/proc/self/fd/" + std::to_string(fd);
  const bool done = fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) && chmod(same.c_str(), 0660) == 0;
  close(fd);
  return done;
}

bool IsDirectory(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool IsUsable(const std::string& path) {
  return IsDirectory(path) && access(path.c_str(), W_OK | X_OK) == 0;
}

std::string Reason() { return std::strerror(errno); }

void CreateSystemDirectory() {
  if (mkdir(kSystemDirectory, 0770) != 0) return;
  if (const auto group = GidOfGroup("adocd")) {
    if (chown(kSystemDirectory, static_cast<uid_t>(-1), *group) != 0) return;
  }
  (void)!chmod(kSystemDirectory, 02770);  // after chown, which clears the set-group-ID bit
}

sockaddr_un Address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

int Connect(const sockaddr_un& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  const int result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  close(fd);
  return result;
}

// Renames the listening socket to its final name. EEXIST if a living agent has that name.
int TakeName(const std::string& temporary, const std::string& name) {
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, name.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno == EEXIST) {
    const int state = Connect(Address(name));
    if (state != ECONNREFUSED && state != ENOENT) return EEXIST;
  } else if (errno != EINVAL && errno != ENOSYS) {  // file systems without RENAME_NOREPLACE
    return errno;
  }
  return std::rename(temporary.c_str(), name.c_str()) == 0 ? 0 : errno;
}

std::string TemporaryName() {
  uint32_t random = 0;
  if (getrandom(&random, sizeof random, 0) != sizeof random) random = static_cast<uint32_t>(getpid());
  char text[32];
  std::snprintf(text, sizeof text, ".%08x.new", random);
  return text;
}

}  // namespace

std::string FindRunDirectory(std::string* error) {
  const std::string own = EnvironmentText("ADOCD_RUN_DIR");
  if (!own.empty()) {
    if (own[0] != '/') {
      *error = "ADOCD_RUN_DIR must be a whole path, not '" + own + "': a daemon would look elsewhere";
      return {};
    }
    if (IsUsable(own)) return own;
    *error = "ADOCD_RUN_DIR is '" + own + "', which is not a directory this process may write to; create it";
    return {};
  }
  if (geteuid() == 0 && !IsDirectory(kSystemDirectory)) CreateSystemDirectory();
  if (IsUsable(kSystemDirectory)) return kSystemDirectory;
  const std::string runtime = EnvironmentText("XDG_RUNTIME_DIR");
  if (!runtime.empty()) {
    const std::string path = runtime + "/adocd";
    (void)mkdir(path.c_str(), 0700);
    if (IsUsable(path)) return path;
  }
  *error = std::string("no run directory: ") + kSystemDirectory +
           " cannot be written and XDG_RUNTIME_DIR gives none; set ADOCD_RUN_DIR";
  return {};
}

ListeningSocket Listen(const std::string& directory, std::string* error) {
  const std::string base = directory + "/agent-" + std::to_string(getpid());
  const std::string temporary = directory + "/" + TemporaryName();
  const size_t longest = std::max(base.size() + std::strlen("-99.sock"), temporary.size());
  if (longest >= sizeof(sockaddr_un::sun_path)) {
    *error = "the socket path " + base + ".sock is longer than a Unix socket's may be (" +
             std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " bytes); set ADOCD_RUN_DIR to a shorter one";
    return {};
  }
  int fd = -1;
  {
    const std::lock_guard<std::mutex> lock(g_process_mutex);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0) open_sockets::AddLocked(fd);
  }
  if (fd < 0) {
    *error = "cannot create a socket: " + Reason();
    return {};
  }
  const auto fail = [&](const std::string& what) {
    *error = what;
    unlink(temporary.c_str());
    open_sockets::Remove(open_sockets::Identify(fd));
    close(fd);
    return ListeningSocket{};
  };
  const sockaddr_un address = Address(temporary);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail("cannot create a socket in " + directory + ": " + Reason());
  }
  if (!OpenToTheGroup(temporary) || listen(fd, kBacklog) != 0) {
    return fail("cannot listen in " + directory + ": " + Reason());
  }
  for (int number = 1; number < kMaxNames; ++number) {
    const std::string name = base + (number == 1 ? "" : "-" + std::to_string(number)) + ".sock";
    const int result = TakeName(temporary, name);
    if (result == 0) return {fd, name};
    if (result != EEXIST) {
      errno = result;
      return fail("cannot name the socket " + name + ": " + Reason());
    }
  }
  return fail("every name from " + base + ".sock on is taken by a living agent");
}

}  // namespace adocd
