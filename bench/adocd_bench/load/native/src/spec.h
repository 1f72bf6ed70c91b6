// The contents of SPEC.json; bench/adocd_bench/load/spec.py writes it and documents its values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "arrivals.h"
#include "keys.h"
#include "operation.h"

namespace adocd::load {

// Why a spec cannot be executed, in one sentence.
class SpecError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using OptionMap = std::map<std::string, std::string>;

struct Open {
  std::vector<Step> steps;
  bool poisson = false;
  double overrun_at_most_s = 0;

  double Seconds() const;
};

struct Closed {
  std::optional<double> seconds;
  std::optional<uint64_t> count;
};

struct Drain {
  double at_most_s = 0;
  std::string until;  // a file; empty: until nothing is left
};

// Exactly one of open, closed and drain is set.
struct Phase {
  std::string name;
  bool measured = false;
  std::string waits_for;  // a file; empty: the phase begins at once
  uint64_t threads = 1;
  Weights weights{};
  uint64_t scan_length = 100;
  Distribution distribution = Distribution::kUniform;
  uint64_t records = 0;
  std::optional<Open> open;
  std::optional<Closed> closed;
  std::optional<Drain> drain;
};

struct Spec {
  std::string database;
  std::string result;
  bool create = false;
  OptionMap options;
  std::optional<uint64_t> rate_limiter_bytes_per_s;
  bool auto_tuned = false;
  std::string statistics = "none";
  uint64_t key_bytes = 16;
  uint64_t value_bytes = 1000;
  bool hashed = true;
  bool disable_wal = false;
  uint64_t seed = 1;
  std::vector<Phase> phases;
};

// Throws SpecError.
Spec ReadSpec(const std::string& file);

}  // namespace adocd::load
