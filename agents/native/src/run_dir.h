#pragma once
#include <string>

namespace adocd {

// The run directory by the protocol's rules: ADOCD_RUN_DIR; else /run/adocd, created by root; else
// $XDG_RUNTIME_DIR/adocd. Empty with `error` when there is none.
std::string FindRunDirectory(std::string* error);

struct ListeningSocket {
  int fd = -1;
  std::string path;
};

// Listens in `directory` under agent-<pid>.sock, or agent-<pid>-2.sock and so on where a living agent of another
// pid namespace has the name. The name appears only once the socket listens. fd is -1 with `error` on failure.
ListeningSocket Listen(const std::string& directory, std::string* error);

}  // namespace adocd
