#pragma once
#include <cstddef>
#include <map>
#include <string>

#include "sample.h"

namespace adocd {

// Reads a column family's figures from the map of rocksdb.cfstats (db/internal_stats.cc, DumpCFMapStats).
CfStats CfStatsOf(const std::map<std::string, std::string>& map, size_t levels);

}  // namespace adocd
