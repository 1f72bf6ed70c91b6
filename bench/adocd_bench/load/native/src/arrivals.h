// Intended start times: when the n-th operation is to start, whatever became of those before it.
//
// The steps give a rate that is constant for a while. With R(t) the operations that are due until t, the n-th starts
// where R(t) = n: evenly spaced within a step, and no fraction of an operation lost between two. As a Poisson process
// it starts where R(t) is the sum of n exponential gaps with a mean of 1.
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

// Every client walks the same times with an object of its own, so that none waits for another's.
class Arrivals {
 public:
  Arrivals(const std::vector<Step>& steps, bool poisson, uint64_t seed)
      : steps_(&steps), poisson_(poisson), seed_(seed) {}

  // Nanoseconds from the phase's begin to the start of operation `number`; numbers ascend from call to call.
  // False when the steps are over before.
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
  // Of sums of rates times seconds: a step must not have one operation more for it.
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
