// A phase carried out, and what came of it.
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

// Processor seconds of this process so far.
double CpuSeconds();

// Throws Failed. A signal ends it early; `signals` knows.
PhaseResult RunPhase(const Spec& spec, size_t phase, Database* database, Inserted* inserted, Signals* signals);

}  // namespace adocd::load
