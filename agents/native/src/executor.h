#pragma once
#include "change.h"
#include "control.h"

namespace adocd {

class Session;

// The result of a change whose target is closed or dropped.
StepResult Gone(std::string error);

// Executes one change, inside the session's gate: compares first (a call that changes nothing still costs an OPTIONS
// file), calls RocksDB, reads back. With `repeat` it calls RocksDB even if every value is already set: RocksDB before
// 9.11 can have reverted a change internally and still show the new value. Makes no call that would end the host
// (host_safety.h). Slow: runs only on the apply thread.
StepResult Execute(Session& session, const Change& change, bool repeat);

// The same for a step of a restore, which nobody will send again: leaves out options that are at odds with others,
// since the host may have changed those meanwhile, and sets the rest. Its error says what was left out.
StepResult ExecuteWhatFits(Session& session, const Change& change);

}  // namespace adocd
