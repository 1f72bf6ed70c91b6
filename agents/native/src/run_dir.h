#pragma once
#include <string>

namespace adocd {

// Returns the run directory by the protocol's rules: ADOCD_RUN_DIR; else /run/adocd, created by root; else
// $XDG_RUNTIME_DIR/adocd. Empty, with `error` set, if there is none.
std::string FindRunDirectory(std::string* error);

struct ListeningSocket {
  int fd = -1;
  std::string path;
};

// Listens in `directory` at agent-<pid>.sock, or at agent-<pid>-2.sock and so on if a living agent of another pid
// namespace has that name. The name appears only when the socket listens. On failure, fd is -1 and `error` is set.
ListeningSocket Listen(const std::string& directory, std::string* error);

}  // namespace adocd
