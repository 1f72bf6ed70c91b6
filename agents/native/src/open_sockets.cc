#include "open_sockets.h"

#include <sys/stat.h>
#include <unistd.h>

#include "fork_generation.h"

namespace adocd::open_sockets {
namespace {

// The inode identifies a socket: asio closes it when a deadline passes, and before we learn of that, the host may get
// the same descriptor number for a file of its own.
OpenSocket g_sockets[kCapacity];
int g_count = 0;

ino_t InodeOf(int fd) {
  struct stat status{};
  return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

}  // namespace

OpenSocket Identify(int fd) { return {fd, InodeOf(fd)}; }

bool AddLocked(int fd) {
  if (g_count == kCapacity) return false;
  g_sockets[g_count++] = Identify(fd);
  return true;
}

void Remove(const OpenSocket& socket) {
  const std::lock_guard<std::mutex> lock(g_process_mutex);
  for (int i = 0; i < g_count; ++i) {
    if (g_sockets[i].fd == socket.fd && g_sockets[i].inode == socket.inode) {
      g_sockets[i] = g_sockets[--g_count];
      return;
    }
  }
}

void CloseAllLocked() {
  for (int i = 0; i < g_count; ++i) {
    if (InodeOf(g_sockets[i].fd) == g_sockets[i].inode) close(g_sockets[i].fd);
  }
  g_count = 0;
}

}  // namespace adocd::open_sockets
