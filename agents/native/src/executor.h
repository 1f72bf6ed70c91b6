#pragma once
#include "change.h"
#include "control.h"

namespace adocd {

class Session;

// What became of a change whose target is closed or dropped.
StepResult Gone(std::string error);

// Executes one change, inside the session's gate: compares first (a call that changes nothing still costs an OPTIONS file), calls RocksDB,
// reads back. Slow: runs on the apply thread only.
StepResult Execute(Session& session, const Change& change);

}  // namespace adocd
