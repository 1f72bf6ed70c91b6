#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace adocd::attach {

// What `adocd attach` has done in this process, after it loaded the library. It proves from outside which addresses are
// open databases (adocd/process/attach), in this order: a proof, Begin, a second proof, Adopt. From Begin on every close
// is seen, so a database that passes the second proof and has not begun to close since Begin stays open until its
// close, which then waits for us, as at any other session.

// Redirects the process's calls to us, and starts the agent without any database. `librocksdb` is the path of the
// loaded library, `environment` what the agent takes for its environment. Returns why it cannot, or nothing.
std::string Begin(const std::string& librocksdb, std::map<std::string, std::string> environment);

// Begins a session for each of these databases. Returns why one was left alone, by address.
std::map<uintptr_t, std::string> Adopt(const std::vector<uintptr_t>& databases);

// Ends all sessions and the agent, and puts the process's own calls back. A close that begins meanwhile waits for it.
std::string End();

// In a forked child, which has none of the threads that adopt.
void Forked() noexcept;

// The host has begun to close or destroy a database.
void Leaving(const void* db) noexcept;

}  // namespace adocd::attach
