// YCSB's kinds of operations, and the share of each.
#pragma once

#include <array>
#include <cstddef>

namespace adocd::load {

enum Kind : size_t { kRead, kUpdate, kInsert, kScan, kReadModifyWrite };
constexpr size_t kKinds = 5;
constexpr std::array<const char*, kKinds> kKindNames = {"read", "update", "insert", "scan", "read_modify_write"};

// Shares of the kinds; they need not add up to 1.
using Weights = std::array<double, kKinds>;

inline double Sum(const Weights& weights) {
  double sum = 0;
  for (const double weight : weights) sum += weight;
  return sum;
}

// `unit` is random in [0, 1).
inline Kind Choose(const Weights& weights, double unit) {
  double left = unit * Sum(weights);
  size_t last = 0;
  for (size_t kind = 0; kind < kKinds; ++kind) {
    if (weights[kind] <= 0) continue;
    if (left < weights[kind]) return static_cast<Kind>(kind);
    left -= weights[kind];
    last = kind;
  }
  return static_cast<Kind>(last);
}

}  // namespace adocd::load
