#include "phase.h"

#include <sys/resource.h>

namespace adocd::load {
namespace {

constexpr uint64_t kLookEveryNs = kNsPerS / 200;
constexpr double kBegunWithinS = 60;

double Seconds(uint64_t ns) { return static_cast<double>(ns) / static_cast<double>(kNsPerS); }

// Converts a time on CLOCK_MONOTONIC to unix seconds, by the difference of the two clocks now.
double UnixSeconds(uint64_t at_ns) {
  return Seconds(Nanoseconds(CLOCK_REALTIME)) + Seconds(at_ns) - Seconds(NowNs());
}

}  // namespace

double CpuSeconds() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

PhaseResult RunPhase(const Spec& spec, size_t index, Database* database, Inserted* inserted, Signals* signals) {
  const Phase& phase = spec.phases[index];
  const double cpu_s = CpuSeconds();
  PhaseResult result;
  if (!phase.waits_for.empty() && !WaitFor(phase.waits_for, kBegunWithinS, signals) && signals->received() == 0) {
    throw Failed("phase " + phase.name + " was to wait for " + phase.waits_for + ", and nobody made that file");
  }
  if (phase.drain) {
    result.begin_ns = NowNs();
    const auto& [at_most_s, until] = *phase.drain;
    result.drained = until.empty() ? WaitUntilDrained(*database, at_most_s, signals)
                                   : FlushAndWaitFor(until, *database, at_most_s, signals);
    result.seconds = result.drained->seconds;
  } else {
    inserted->AtLeast(phase.records);
    Clients clients(spec, index, *database, inserted);
    clients.Start();
    while (!clients.AllEnded()) {
      if (signals->Wait(kLookEveryNs)) {
        clients.Stop();
        break;
      }
    }
    result.tallies = clients.Collect();
    result.begin_ns = clients.begin_ns();
    result.seconds = Seconds(clients.end_ns() - clients.begin_ns());
  }
  result.begin_unix_s = UnixSeconds(result.begin_ns);
  result.cpu_s = CpuSeconds() - cpu_s;
  return result;
}

}  // namespace adocd::load
