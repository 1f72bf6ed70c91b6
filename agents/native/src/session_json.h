#pragma once
#include <string>

#include "control.h"
#include "session.h"

namespace adocd {

void AppendEvent(std::string* out, const Event& event);
std::string LeaseJson(const Lease& lease, double now_s);
std::string RestoreJson(const RestoreStatus& restore);
std::string StepsJson(const std::vector<StepResult>& steps);
std::string OriginalsJson(const Session& session);
// Returns the whole snapshot; without events if `events_after` is absent.
std::string SnapshotJson(const Session& session, const Sample& sample, const std::optional<uint64_t>& events_after);

}  // namespace adocd
