#pragma once
#include <optional>
#include <string>
#include <variant>

#include "applier.h"
#include "problem.h"

namespace adocd {

struct LeaseRequest {
  std::string holder;
  double ttl_s = 0;
  std::optional<int64_t> epoch;
};

// Parses request bodies: 400 if a body is not JSON, 422 if the JSON does not match the protocol.
std::variant<LeaseRequest, Problem> ParseLeaseRequest(const std::string& body);
std::variant<ChangeRequest, Problem> ParseChangeRequest(const std::string& body);

}  // namespace adocd
