#include "accounts.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include "query.h"

namespace adocd {
namespace {

// Finds the line of `file` whose field `field` is `value`, and returns its field `wanted`.
std::optional<std::string> Lookup(const char* file, size_t field, const std::string& value, size_t wanted) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    std::vector<std::string> fields;
    std::istringstream parts(line);
    for (std::string part; std::getline(parts, part, ':');) fields.push_back(part);
    if (fields.size() > std::max(field, wanted) && fields[field] == value) return fields[wanted];
  }
  return std::nullopt;
}

std::optional<unsigned> ToId(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const auto value = ParseUnsigned(*text);
  if (!value || *value > 0xfffffffeULL) return std::nullopt;
  return static_cast<unsigned>(*value);
}

}  // namespace

std::optional<unsigned> UidOfUser(const std::string& name) { return ToId(Lookup("/etc/passwd", 0, name, 2)); }
std::optional<unsigned> GidOfGroup(const std::string& name) { return ToId(Lookup("/etc/group", 0, name, 2)); }

std::string NameOfUid(unsigned uid) {
  return Lookup("/etc/passwd", 2, std::to_string(uid), 0).value_or(std::to_string(uid));
}

AllowList::AllowList(const std::string& extra, std::string* error) {
  if (const auto adocd = UidOfUser("adocd")) uids_.push_back(*adocd);
  std::istringstream parts(extra);
  for (std::string part; std::getline(parts, part, ',');) {
    if (part.empty()) continue;
    const auto uid = ToId(part);
    if (!uid) {
      *error = "ADOCD_ALLOW_UIDS: '" + part + "' is not a uid; give numbers separated by commas";
      return;
    }
    uids_.push_back(*uid);
  }
}

bool AllowList::Allows(unsigned uid) const {
  return uid == 0 || uid == geteuid() || std::find(uids_.begin(), uids_.end(), uid) != uids_.end();
}

}  // namespace adocd
