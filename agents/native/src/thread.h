#pragma once
#include <functional>
#include <thread>

namespace adocd {

// Starts a named thread in the host's process, with every signal blocked, so that the host's signal handlers never run
// on it, except those for faults and for a profiler, where the host has not blocked them. Throws std::system_error if no
// thread can be started.
std::thread StartThread(const char* name, std::function<void()> body);

}  // namespace adocd
