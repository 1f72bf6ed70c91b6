#pragma once
#include "change.h"
#include "control.h"

namespace adocd {

class Session;

// Executes one change: compares first (a call that changes nothing still costs an OPTIONS file), calls RocksDB,
// reads back. Slow: runs on the apply thread only.
StepResult Execute(Session& session, const Change& change);

}  // namespace adocd
