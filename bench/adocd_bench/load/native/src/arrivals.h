// Intended start times: when the n-th operation should start, however late the operations before it are.
//
// The rate is constant within each step. If R(t) operations are due until t, operation n starts at R(t) = n: starts are
// evenly spaced within a step, and no fraction of an operation is lost between steps. In a Poisson process, operation n
// starts when R(t) is the sum of n exponential gaps with a mean of 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "clock.h"
#include "random.h"

namespace adocd::load {

struct Step {
  double seconds;
  double per_s;
};

// Each client computes the same times with its own object, so that clients do not wait for each other.
class Arrivals {
 public:
  Arrivals(const std::vector<Step>& steps, bool poisson, uint64_t seed)
      : steps_(&steps), poisson_(poisson), seed_(seed) {}

  // Sets the nanoseconds from the phase's beginning to the start of operation `number`, which must be larger in each
  // call. Returns false if the steps end before it.
  bool OffsetNs(uint64_t number, uint64_t* offset_ns) {
    const double due = poisson_ ? Gaps(number) : static_cast<double>(number);
    while (step_ < steps_->size() && due >= begin_due_ + Operations() - kRounding) {
      begin_due_ += Operations();
      begin_s_ += (*steps_)[step_].seconds;
      ++step_;
    }
    if (step_ == steps_->size()) return false;
    const double offset_s = begin_s_ + std::max(0.0, due - begin_due_) / (*steps_)[step_].per_s;
    *offset_ns = static_cast<uint64_t>(offset_s * static_cast<double>(kNsPerS));
    return true;
  }

 private:
  // Tolerance for rounding in sums of rate times seconds, which must not add an operation to a step.
  static constexpr double kRounding = 1e-6;

  double Operations() const { return (*steps_)[step_].seconds * (*steps_)[step_].per_s; }

  double Gaps(uint64_t number) {
    for (; gaps_ <= number; ++gaps_) sum_ -= std::log1p(-Stream(seed_, gaps_).Unit());
    return sum_;
  }

  const std::vector<Step>* steps_;
  bool poisson_;
  uint64_t seed_;
  size_t step_ = 0;
  double begin_due_ = 0;
  double begin_s_ = 0;
  uint64_t gaps_ = 0;
  double sum_ = 0;
};

}  // namespace adocd::load
