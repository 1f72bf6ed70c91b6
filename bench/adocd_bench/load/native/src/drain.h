// Waits: until RocksDB has no flush or compaction left, or for somebody outside.
#pragma once

#include <string>

#include "database.h"
#include "signals.h"

namespace adocd::load {

struct Drained {
  bool reached;
  double seconds;
  uint64_t pending_compaction_bytes;  // at the end of the wait
};

// Looks every 100 ms, until no job runs or is pending in three looks in a row, or for `at_most_s`. `seconds` is the
// time until the first of the three. Does not flush the active memtable.
Drained WaitUntilDrained(const Database& database, double at_most_s, Signals* signals);

// Flushes the memtables, then waits until the file exists, or for `at_most_s`, so that others can change options and see
// what is left. Throws Failed.
Drained FlushAndWaitFor(const std::string& file, const Database& database, double at_most_s, Signals* signals);

// Waits until the file exists, or for `at_most_s`. Returns whether it does.
bool WaitFor(const std::string& file, double at_most_s, Signals* signals);

}  // namespace adocd::load
