// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): each operation has its own stream, seeded by its number. So operation n
// has the same kind and the same key in every run, whichever thread executes it.
#pragma once

#include <cstdint>

namespace adocd::load {

// A bijection on 64 bits: different numbers stay different.
inline uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

class Stream {
 public:
  Stream(uint64_t seed, uint64_t number) : state_(Mix(seed + Mix(number + kGolden))) {}

  uint64_t Next() { return Mix(state_ += kGolden); }

  // In [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

  // In [0, bound), for a bound above 0.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }

 private:
  static constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ULL;
  uint64_t state_;
};

}  // namespace adocd::load
