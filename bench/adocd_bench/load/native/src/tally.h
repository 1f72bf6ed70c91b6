// Counts of operations: each client has its own, without a lock; at the end they are added up.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "clock.h"
#include "histogram.h"
#include "operation.h"

namespace adocd::load {

// One second of a phase: the operations that ended in it, those that should have started in it, the longest latency.
struct Second {
  std::array<uint64_t, kKinds> done{};
  uint64_t offered = 0;
  uint64_t longest_ns = 0;

  void Add(const Second& other) {
    for (size_t kind = 0; kind < kKinds; ++kind) done[kind] += other.done[kind];
    offered += other.offered;
    longest_ns = std::max(longest_ns, other.longest_ns);
  }
};

// The second that contains the time `offset_ns` after the phase's beginning.
inline Second& SecondAt(std::vector<Second>* seconds, uint64_t offset_ns) {
  const size_t index = offset_ns / kNsPerS;
  if (index >= seconds->size()) seconds->resize(index + 1);
  return (*seconds)[index];
}

enum Latency : size_t { kProcessing, kQueueing, kTotal };
constexpr size_t kLatencies = 3;

// One client's counts.
struct Tally {
  std::array<std::array<std::unique_ptr<Histogram>, kLatencies>, kKinds> latencies;
  std::array<uint64_t, kKinds> done{};
  std::array<uint64_t, kKinds> not_started{};
  uint64_t not_found = 0;
  std::vector<Second> seconds;
  uint64_t last_return_ns = 0;

  void Record(Kind kind, Latency latency, uint64_t ns) {
    auto& histogram = latencies[kind][latency];
    if (!histogram) histogram = std::make_unique<Histogram>();
    histogram->Record(ns);
  }
};

// The counts of all clients.
struct Tallies {
  std::array<std::array<Total, kLatencies>, kKinds> latencies;
  std::array<uint64_t, kKinds> done{};
  std::array<uint64_t, kKinds> not_started{};
  uint64_t not_found = 0;
  std::vector<Second> seconds;
  uint64_t last_return_ns = 0;

  void Add(const Tally& tally) {
    for (size_t kind = 0; kind < kKinds; ++kind) {
      done[kind] += tally.done[kind];
      not_started[kind] += tally.not_started[kind];
      for (size_t latency = 0; latency < kLatencies; ++latency) {
        const auto& histogram = tally.latencies[kind][latency];
        if (histogram) latencies[kind][latency].Add(*histogram);
      }
    }
    not_found += tally.not_found;
    last_return_ns = std::max(last_return_ns, tally.last_return_ns);
    if (seconds.size() < tally.seconds.size()) seconds.resize(tally.seconds.size());
    for (size_t i = 0; i < tally.seconds.size(); ++i) seconds[i].Add(tally.seconds[i]);
  }
};

}  // namespace adocd::load
