#pragma once
#include <sys/types.h>

namespace adocd {

// The sockets that a forked child must close: a child with the listening socket would make a dead agent look alive.
// accept and Add must be called under g_process_mutex (fork_generation.h), which the fork handlers hold.
namespace open_sockets {

inline constexpr int kCapacity = 64;

// Has the inode, because the number may belong to another file once the socket is closed.
struct OpenSocket {
  int fd;
  ino_t inode;
};

bool AddLocked(int fd);
// For a socket that is still open.
OpenSocket Identify(int fd);
void Remove(const OpenSocket& socket);
// Called in a forked child, which holds g_process_mutex.
void CloseAllLocked();

}  // namespace open_sockets
}  // namespace adocd
