#include "host_safety.h"

#include <cstdlib>

#include <sys/statvfs.h>
#include <unistd.h>

#include "session.h"

namespace adocd {
namespace {

// OPTIONS and LOG take about 20 KB for each column family: enough for hundreds, and little on any disk.
constexpr uint64_t kNeededMib = 8;

// Nothing if it is unknown: the host has its own Env, or the file system has no size.
std::optional<uint64_t> FreeBytes(const std::string& directory) {
  struct statvfs status {};
  if (statvfs(directory.c_str(), &status) != 0 || status.f_blocks == 0) return std::nullopt;
  return static_cast<uint64_t>(geteuid() == 0 ? status.f_bfree : status.f_bavail) * status.f_frsize;
}

std::optional<long> Number(const OptionMap& changed, const OptionMap& current, const char* name) {
  auto found = changed.find(name);
  if (found == changed.end()) {
    found = current.find(name);
    if (found == current.end()) return std::nullopt;
  }
  return std::strtol(found->second.c_str(), nullptr, 10);
}

}  // namespace

std::optional<std::string> LackOfSpace(const std::vector<std::string>& directories) {
  for (const auto& directory : directories) {
    const auto free = FreeBytes(directory);
    if (free && *free < kNeededMib << 20) {
      return "less than " + std::to_string(kNeededMib) + " MiB are free for " + directory +
             ", and RocksDB writes OPTIONS and LOG at each change; make room";
    }
  }
  return std::nullopt;
}

std::optional<std::string> LackOfSpace(const Session& session, const Change& change) {
  if (change.scope != Scope::kColumnFamily && change.scope != Scope::kDatabase) return std::nullopt;
  std::vector<std::string> directories{session.path};
  if (const size_t slash = session.log_path.rfind('/'); slash != std::string::npos) {
    directories.push_back(session.log_path.substr(0, slash));
  }
  return LackOfSpace(directories);
}

std::optional<std::string> TriggersOutOfOrder(const OptionMap& current, const Change& change) {
  constexpr const char* kTrigger = "level0_file_num_compaction_trigger";
  constexpr const char* kSlowdown = "level0_slowdown_writes_trigger";
  if (change.scope != Scope::kColumnFamily) return std::nullopt;
  if (!change.options.count(kTrigger) && !change.options.count(kSlowdown)) return std::nullopt;
  const auto trigger = Number(change.options, current, kTrigger);
  const auto slowdown = Number(change.options, current, kSlowdown);
  if (!trigger || !slowdown || *trigger <= *slowdown) return std::nullopt;
  return std::string(kTrigger) + " would be " + std::to_string(*trigger) + " and " + kSlowdown + " " +
         std::to_string(*slowdown) + ", and the first must not be greater, or RocksDB aborts the process";
}

}  // namespace adocd
