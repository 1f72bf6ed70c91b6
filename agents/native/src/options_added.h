#pragma once
#include <string>

#include "agent_hooks.h"

namespace adocd {

// Level of the Statistics that the agent adds if the host has none: none, tickers or all.
std::string AddedStatisticsLevel();

// Whether the environment variables for added options are valid; `error` says what is wrong.
bool CheckAddedOptions(std::string* error);

// Adds the listener, and the options that the environment asks for, to a copy of the host's options.
void AddOptions(hooks::OpenInProgress* open);

}  // namespace adocd
