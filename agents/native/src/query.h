#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace adocd {

// Splits a request target into a decoded path and its decoded query. False when it is neither.
bool SplitTarget(const std::string& target, std::string* path, std::map<std::string, std::string>* query);

// Plain decimal digits only.
std::optional<uint64_t> ParseUnsigned(const std::string& text);
std::optional<bool> ParseBool(const std::string& text);

}  // namespace adocd
