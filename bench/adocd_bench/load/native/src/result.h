// RESULT.json; bench/adocd_bench/load/result.py reads it and says what each value means.
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
  rocksdb::DBOptions effective;  // as RocksDB opened with them
  std::vector<std::pair<const Phase*, PhaseResult>> phases;
};

// The file is whole or not there. Throws Failed.
void WriteResult(const std::string& file, const Result& result);

}  // namespace adocd::load
