#pragma once
#include <cstddef>
#include <map>
#include <string>

#include "sample.h"

namespace adocd {

// What the map of rocksdb.cfstats says (db/internal_stats.cc, DumpCFMapStats) of a column family with so many levels.
CfStats CfStatsOf(const std::map<std::string, std::string>& map, size_t levels);

}  // namespace adocd
