#pragma once
#include <sys/types.h>

namespace adocd {

// Sockets that a forked child must not keep: a child holding the listening socket would make a dead agent look
// alive. accept and Add must happen under g_process_mutex (fork_generation.h), which the fork handlers hold.
namespace open_sockets {

inline constexpr int kCapacity = 64;

// With the inode, because the number may be another's once the socket is closed.
struct OpenSocket {
  int fd;
  ino_t inode;
};

bool AddLocked(int fd);
// Of a socket that is still open.
OpenSocket Identify(int fd);
void Remove(const OpenSocket& socket);
// In a forked child, which holds g_process_mutex.
void CloseAllLocked();

}  // namespace open_sockets
}  // namespace adocd
