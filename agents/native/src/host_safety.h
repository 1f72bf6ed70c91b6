#pragma once
#include <optional>
#include <string>
#include <vector>

#include "change.h"

namespace adocd {

class Session;

// Detects changes that would end the host's process. Debian compiles librocksdb with assertions, so it aborts where
// other builds continue. Each function returns, in one sentence, why the change must not be made now, or nothing.

// A change of options writes an OPTIONS file and many lines to the LOG. RocksDB 7.8 asserts that it never writes to a
// file, the LOG included, after a write to it has failed (WritableFileWriter): on a full file system it would abort.
std::optional<std::string> LackOfSpace(const Session& session, const Change& change);
std::optional<std::string> LackOfSpace(const std::vector<std::string>& directories);

// GetL0ThresholdSpeedupCompaction in db/column_family.cc asserts an order of triggers that RocksDB ensures only at
// open. `current` are the column family's options.
std::optional<std::string> TriggersOutOfOrder(const OptionMap& current, const Change& change);

}  // namespace adocd
