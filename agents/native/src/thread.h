#pragma once
#include <functional>
#include <thread>

namespace adocd {

// Starts a named thread in the host's process, with every signal blocked, so that the host's signal handlers never run
// on it. Throws std::system_error if no thread can be started.
std::thread StartThread(const char* name, std::function<void()> body);

}  // namespace adocd
