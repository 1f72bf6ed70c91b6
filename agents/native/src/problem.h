#pragma once
#include <string>

namespace adocd {

// A refusal, as the protocol's problem details (RFC 9457).
struct Problem {
  int status = 500;
  std::string code;
  std::string detail;  // one sentence: what is wrong and what to do
  std::string holder;  // who holds the lease, if that is the reason
  std::string option;  // the option at fault
};

inline Problem BadRequest(int status, std::string detail) {
  return Problem{status, "bad_request", std::move(detail), {}, {}};
}

inline Problem NoSuchDatabase(const std::string& id) {
  return Problem{404, "no_such_database", "No database '" + id + "' is open in this process; list /v1/databases.", {}, {}};
}

inline Problem DatabaseClosed() {
  return Problem{409, "database_closed", "The database was closed; list the databases again.", {}, {}};
}

}  // namespace adocd
