// Executes a phase and returns its result.
#pragma once

#include <optional>

#include "clients.h"
#include "drain.h"

namespace adocd::load {

struct PhaseResult {
  uint64_t begin_ns = 0;  // CLOCK_MONOTONIC
  double begin_unix_s = 0;
  double seconds = 0;
  double cpu_s = 0;  // of the whole process: clients, flushes, compactions
  std::optional<Tallies> tallies;
  std::optional<Drained> drained;
};

// CPU time of this process so far, in seconds.
double CpuSeconds();

// Throws Failed. A signal ends the phase early; see `signals`.
PhaseResult RunPhase(const Spec& spec, size_t phase, Database* database, Inserted* inserted, Signals* signals);

}  // namespace adocd::load
