#pragma once
#include <optional>
#include <string>
#include <vector>

namespace adocd {

// Reads users and groups from /etc/passwd and /etc/group. NSS would load modules into the host's process, and may wait
// for a network.
std::optional<unsigned> UidOfUser(const std::string& name);
std::optional<unsigned> GidOfGroup(const std::string& name);
std::string NameOfUid(unsigned uid);  // the number if the file has no name for it

// The uids that may talk to the agent, besides root and the process's own.
class AllowList {
 public:
  // `extra` is ADOCD_ALLOW_UIDS. If it is malformed, `error` says so and nobody is added.
  AllowList(const std::string& extra, std::string* error);
  bool Allows(unsigned uid) const;

 private:
  std::vector<unsigned> uids_;
};

}  // namespace adocd
