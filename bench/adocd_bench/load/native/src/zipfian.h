// Random ranks by Zipf's law: rank r (from 0) of n has a share of 1 / ((r + 1)^theta * zeta(n)).
//
// Sources: Gray, Sundaresan, Englert, Baclawski, Weinberger, "Quickly generating billion-record synthetic databases",
// SIGMOD 1994, section 3.2, as in YCSB's ZipfianGenerator, with its theta of 0.99. YCSB adds up zeta(n) term by term;
// here the terms beyond the first thousand come from the Euler-Maclaurin formula (to 1e-12), which costs nothing when n
// grows with every insert.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "random.h"

namespace adocd::load {

constexpr double kTheta = 0.99;

class Zeta {
 public:
  Zeta() {
    for (uint64_t n = 1; n <= kSummed; ++n) sums_[n] = sums_[n - 1] + std::pow(static_cast<double>(n), -kTheta);
    constant_ = sums_[kSummed] - Beyond(static_cast<double>(kSummed));
  }

  double operator()(uint64_t n) const {
    return n <= kSummed ? sums_[n] : constant_ + Beyond(static_cast<double>(n));
  }

 private:
  static constexpr uint64_t kSummed = 1000;

  static double Beyond(double n) {
    const double power = std::pow(n, -kTheta);
    return n * power / (1 - kTheta) + power / 2 - kTheta * power / (12 * n);
  }

  double sums_[kSummed + 1] = {};
  double constant_;
};

class Zipfian {
 public:
  Zipfian(const Zeta& zeta, uint64_t ranks)
      : ranks_(ranks),
        zeta_(zeta(ranks)),
        eta_((1 - std::pow(2.0 / static_cast<double>(ranks), 1 - kTheta)) / (1 - zeta(2) / zeta_)) {}

  uint64_t Rank(Stream* random) const {
    const double u = random->Unit();
    if (u * zeta_ < 1 || ranks_ == 1) return 0;
    if (u * zeta_ < 1 + std::pow(0.5, kTheta) || ranks_ == 2) return 1;
    const double rank = static_cast<double>(ranks_) * std::pow(eta_ * u - eta_ + 1, 1 / (1 - kTheta));
    return std::min(static_cast<uint64_t>(rank), ranks_ - 1);
  }

 private:
  uint64_t ranks_;
  double zeta_;
  double eta_;
};

}  // namespace adocd::load
