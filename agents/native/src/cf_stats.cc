#include "cf_stats.h"

#include <cstdlib>

namespace adocd {
namespace {

// 0 if the map has no such key: RocksDB omits levels that never had a file. It writes sizes as doubles, which are exact
// up to 2^53 bytes; their decimals are all 0.
uint64_t Number(const std::map<std::string, std::string>& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? 0 : std::strtoull(found->second.c_str(), nullptr, 10);
}

std::optional<StallCounts> StallCountsOf(const std::map<std::string, std::string>& map) {
  StallCounts counts;
  if (map.count("memtable-limit-stops")) {  // 11.8 names them like this, 7.8 as below
    counts.memtable_stops = Number(map, "memtable-limit-stops");
    counts.memtable_slowdowns = Number(map, "memtable-limit-delays");
    counts.l0_stops = Number(map, "l0-file-count-limit-stops");
    counts.l0_slowdowns = Number(map, "l0-file-count-limit-delays");
    counts.pending_bytes_stops = Number(map, "pending-compaction-bytes-stops");
    counts.pending_bytes_slowdowns = Number(map, "pending-compaction-bytes-delays");
  } else if (map.count("io_stalls.memtable_compaction")) {
    counts.memtable_stops = Number(map, "io_stalls.memtable_compaction");
    counts.memtable_slowdowns = Number(map, "io_stalls.memtable_slowdown");
    counts.l0_stops = Number(map, "io_stalls.level0_numfiles");
    counts.l0_slowdowns = Number(map, "io_stalls.level0_slowdown");
    counts.pending_bytes_stops = Number(map, "io_stalls.stop_for_pending_compaction_bytes");
    counts.pending_bytes_slowdowns = Number(map, "io_stalls.slowdown_for_pending_compaction_bytes");
  } else {
    return std::nullopt;
  }
  return counts;
}

}  // namespace

CfStats CfStatsOf(const std::map<std::string, std::string>& map, size_t levels) {
  CfStats stats;
  stats.stall_counts = StallCountsOf(map);
  stats.level_bytes.reserve(levels);
  for (size_t level = 0; level < levels; ++level) {
    stats.level_bytes.push_back(Number(map, "compaction.L" + std::to_string(level) + ".SizeBytes"));
  }
  return stats;
}

}  // namespace adocd
