#include "adocd/agent.h"

#include <cstdio>
#include <dlfcn.h>

#include "agent.h"
#include "agent_hooks.h"
#include "symbols.h"
#include "version.h"

#define ADOCD_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

std::string WhyNot() {
  if (dlsym(RTLD_DEFAULT, ADOCD_OPEN) != adocd::InterposedOpenAddress()) {
    return "Another definition of RocksDB comes before the agent's; link with -ladocd_agent before -lrocksdb, and "
           "with the shared librocksdb.";
  }
  std::string reason;
  if (!adocd::Agent::Wanted(&reason)) return "The agent stays out of this process: " + reason + ".";
  adocd::FindRunDirectory(&reason);
  return reason;
}

}  // namespace

ADOCD_EXPORT int adocd_agent_start(char* error, size_t error_size) {
  std::string reason;
  try {
    reason = WhyNot();
  } catch (...) {
    reason = "out of memory";
  }
  if (error && error_size) std::snprintf(error, error_size, "%s", reason.c_str());
  return reason.empty() ? 0 : -1;
}

ADOCD_EXPORT const char* adocd_agent_version(void) { return adocd::kAgentVersion; }
