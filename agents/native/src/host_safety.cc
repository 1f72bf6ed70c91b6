#include "host_safety.h"

#include <cstdlib>

#include <sys/statvfs.h>
#include <unistd.h>

#include "session.h"

namespace adocd {
namespace {

// OPTIONS and LOG take about 20 KB for each column family: enough for hundreds, and little on any disk.
constexpr uint64_t kNeededMib = 8;

// What RocksDB ensures only at open (SanitizeOptions in db/column_family.cc): `lower` + `apart` <= `upper`.
struct Order {
  const char *lower, *upper;
  long apart;
  const char* otherwise;
};
constexpr const char* kTrigger = "level0_file_num_compaction_trigger";
constexpr Order kOrders[] = {
    {kTrigger, "level0_slowdown_writes_trigger", 0, "aborts the process"},
    {kTrigger, "level0_stop_writes_trigger", 0, "stops writes before a compaction is due, for good"},
    {"min_write_buffer_number_to_merge", "max_write_buffer_number", 1, "stops writes before a flush is due, for good"},
};

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

std::optional<Conflict> FindConflict(const OptionMap& current, const Change& change) {
  if (change.scope != Scope::kColumnFamily) return std::nullopt;
  for (const auto& [lower, upper, apart, otherwise] : kOrders) {
    if (!change.options.count(lower) && !change.options.count(upper)) continue;
    const auto low = Number(change.options, current, lower);
    const auto high = Number(change.options, current, upper);
    if (!low || !high || *low <= *high - apart) continue;
    return Conflict{std::string(lower) + " would be " + std::to_string(*low) + " and " + upper + " " +
                        std::to_string(*high) + ", and the first must " + (apart ? "be smaller" : "not be greater") +
                        ", or RocksDB " + otherwise,
                    {lower, upper}};
  }
  return std::nullopt;
}

}  // namespace adocd
