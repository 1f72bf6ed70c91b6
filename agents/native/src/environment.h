#pragma once
#include <cstdlib>
#include <string>

namespace adocd {

// Returns the environment variable; empty if it is not set.
inline std::string EnvironmentText(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace adocd
