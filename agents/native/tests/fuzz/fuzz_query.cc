// Request targets: split and decoded, and every value read as what a parameter can be.
#include <cstdlib>
#include <cstdint>

#include "query.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string target(reinterpret_cast<const char*>(data), size);
  std::string path;
  std::map<std::string, std::string> query;
  if (!adocd::SplitTarget(target, &path, &query)) return 0;
  size_t decoded = path.size();
  for (const auto& [name, value] : query) {
    decoded += name.size() + value.size();
    adocd::ParseBool(value);
    const auto number = adocd::ParseUnsigned(value);
    if (!number) continue;
    const size_t zeros = std::min(value.find_first_not_of('0'), value.size() - 1);
    if (std::to_string(*number) != value.substr(zeros)) std::abort();
  }
  if (path.empty() || path[0] != '/' || decoded > size + 1) std::abort();
  return 0;
}
