#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

namespace adocd {

// The number of forks between this process and the one that loaded the library. Objects of another generation belong
// to a parent and must not be used: threads that do not exist here may hold their locks.
inline std::atomic<uint32_t> g_fork_generation{0};

// Guards everything that both a parent and a forked child use (the running agent, the set of our listeners, the
// table of open sockets). The fork handlers hold it across a fork, so hold it only briefly, and never during a call
// into RocksDB.
inline std::mutex g_process_mutex;

}  // namespace adocd
