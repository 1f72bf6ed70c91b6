#pragma once
#include <map>
#include <string>

namespace adocd {

// Returns the environment variable, or what an attachment gave in its place; empty if there is neither.
std::string EnvironmentText(const char* name);

// Replaces variables for this agent alone: a running program's environment must not be changed. Call it before the agent
// starts, on one thread.
void ReplaceEnvironment(std::map<std::string, std::string> values);

}  // namespace adocd
