#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace adocd {

// Splits a request target into its decoded path and query. Returns false if it is malformed.
bool SplitTarget(const std::string& target, std::string* path, std::map<std::string, std::string>* query);

// Accepts only decimal digits.
std::optional<uint64_t> ParseUnsigned(const std::string& text);
std::optional<bool> ParseBool(const std::string& text);

}  // namespace adocd
