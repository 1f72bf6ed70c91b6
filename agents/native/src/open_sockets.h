#pragma once

namespace adocd {

// Sockets that a forked child must not keep: a child holding the listening socket would make a dead agent look
// alive. accept and Add must happen under g_process_mutex (fork_generation.h), which the fork handlers hold.
namespace open_sockets {

inline constexpr int kCapacity = 64;

bool AddLocked(int fd);
void Remove(int fd);
// In a forked child, which holds g_process_mutex.
void CloseAllLocked();

}  // namespace open_sockets
}  // namespace adocd
