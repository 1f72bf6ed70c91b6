#pragma once
#include <functional>
#include <thread>

namespace adocd {

// Starts a thread of ours inside the host's process: named, with every signal blocked, so that the host's signal
// handlers never run on it. Throws std::system_error when there can be no more threads.
std::thread StartThread(const char* name, std::function<void()> body);

}  // namespace adocd
