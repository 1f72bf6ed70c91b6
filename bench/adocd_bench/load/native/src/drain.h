// Waiting until RocksDB has nothing more to do.
#pragma once

#include "database.h"
#include "signals.h"

namespace adocd::load {

struct Drained {
  bool reached;
  double seconds;
  uint64_t pending_compaction_bytes;  // at the end of it
};

// Looks every 100 ms, until nothing runs or is pending three times in a row, or `at_most_s` are over. `seconds` is
// until the first of the three. The active memtable is not flushed for it.
Drained WaitUntilDrained(const Database& database, double at_most_s, Signals* signals);

}  // namespace adocd::load
