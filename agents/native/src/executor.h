#pragma once
#include "change.h"
#include "control.h"

namespace adocd {

class Session;

// What became of a change whose target is closed or dropped.
StepResult Gone(std::string error);

// Executes one change, inside the session's gate: compares first (a call that changes nothing still costs an OPTIONS
// file), calls RocksDB, reads back. With `repeat` it calls also where every value is there: RocksDB before 9.11 can
// have reverted a change in what it works with, and still show the new value. Makes no call that would end the host
// (host_safety.h). Slow: runs on the apply thread only.
StepResult Execute(Session& session, const Change& change, bool repeat);

}  // namespace adocd
