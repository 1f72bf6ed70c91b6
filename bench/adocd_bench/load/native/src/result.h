// RESULT.json; bench/adocd_bench/load/result.py reads it and documents its values.
#pragma once

#include <rocksdb/options.h>

#include <string>
#include <utility>
#include <vector>

#include "phase.h"

namespace adocd::load {

struct Result {
  bool interrupted = false;
  std::string rocksdb_version;
  rocksdb::DBOptions effective;  // the options that RocksDB actually uses
  std::vector<std::pair<const Phase*, PhaseResult>> phases;
};

// Writes the file completely or not at all. Throws Failed.
void WriteResult(const std::string& file, const Result& result);

}  // namespace adocd::load
