#pragma once
#include <optional>
#include <string>
#include <vector>

#include "change.h"

namespace adocd {

class Session;

// Detects changes that would end the host's process, or stop its writes for good. Debian compiles librocksdb with
// assertions, so it aborts where other builds continue. Each function returns why the change must not be made now, or
// nothing.

// A change of options writes an OPTIONS file and many lines to the LOG. RocksDB 7.8 asserts that it never writes to a
// file, the LOG included, after a write to it has failed (WritableFileWriter): on a full file system it would abort.
std::optional<std::string> LackOfSpace(const Session& session, const Change& change);
std::optional<std::string> LackOfSpace(const std::vector<std::string>& directories);

// Options of a column family whose values do not go together, and why.
struct Conflict {
  std::string why;
  std::vector<std::string> options;
};

// RocksDB asserts an order of level-0 triggers (GetL0ThresholdSpeedupCompaction in db/column_family.cc). With others
// out of order it stops writes and starts no job that would end the stop: a SetOptions that waits for a write never
// returns. `current` are the column family's options as a snapshot shows them.
std::optional<Conflict> FindConflict(const OptionMap& current, const Change& change);

}  // namespace adocd
