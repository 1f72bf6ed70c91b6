#include "environment.h"

#include <cstdlib>

namespace adocd {
namespace {

// Never destroyed: threads may read it while the process ends.
std::map<std::string, std::string>& Replaced() {
  static auto* values = new std::map<std::string, std::string>;
  return *values;
}

}  // namespace

std::string EnvironmentText(const char* name) {
  const auto replaced = Replaced().find(name);
  if (replaced != Replaced().end()) return replaced->second;
  const char* value = std::getenv(name);
  return value ? value : "";
}

void ReplaceEnvironment(std::map<std::string, std::string> values) { Replaced() = std::move(values); }

}  // namespace adocd
