#pragma once
#include <optional>
#include <string>
#include <vector>

#include "change.h"

namespace adocd {

class Session;

// Changes that end the host's process. Debian compiles librocksdb with its assertions: what other builds put up with
// aborts there. Each function says in one sentence why the change must not be made now, or nothing.

// A change of options writes an OPTIONS file and pages of LOG. RocksDB 7.8 asserts that it never writes to a file after
// a write to it has failed (WritableFileWriter), the LOG too: on a full file system a change costs the process.
std::optional<std::string> LackOfSpace(const Session& session, const Change& change);
std::optional<std::string> LackOfSpace(const std::vector<std::string>& directories);

// GetL0ThresholdSpeedupCompaction in db/column_family.cc asserts what is only seen to at open. `current` are the column
// family's options.
std::optional<std::string> TriggersOutOfOrder(const OptionMap& current, const Change& change);

}  // namespace adocd
