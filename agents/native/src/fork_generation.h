#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

namespace adocd {

// Counts the forks between this process and the one that loaded the library. What was created in another
// generation belongs to a parent: its locks may be held by threads that do not exist here, so it is left alone.
inline std::atomic<uint32_t> g_fork_generation{0};

// Guards everything that both a parent and a forked child use (the running agent, the set of our listeners, the
// table of open sockets). The fork handlers hold it across a fork, so it must only ever be held for a moment and
// never while calling RocksDB.
inline std::mutex g_process_mutex;

}  // namespace adocd
