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

// The bodies of the protocol: 400 for what is not JSON, 422 for JSON of another shape.
std::variant<LeaseRequest, Problem> ParseLeaseRequest(const std::string& body);
std::variant<ChangeRequest, Problem> ParseChangeRequest(const std::string& body);

}  // namespace adocd
