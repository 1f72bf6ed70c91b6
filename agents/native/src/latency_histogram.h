#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace adocd {

// Of each bucket that has values its middle in nanoseconds, and how many; in ascending order.
using LatencyBuckets = std::vector<std::pair<uint64_t, uint64_t>>;

// Durations in the buckets of an HdrHistogram of two significant digits: 64 to each power of two, so that a bucket's
// middle is within 0.8 % of every value in it. From 8 ns to 18 minutes (longer ones count there), 16 KiB, no lock.
// A table of our own: the libraries of this kind allocate, or count with locks, inside the host's write.
class LatencyHistogram {
 public:
  void Add(uint64_t ns, uint64_t times) {
    counts_[IndexOf(ns)].fetch_add(times, std::memory_order_relaxed);
  }
  void Clear() {
    for (auto& count : counts_) count.store(0, std::memory_order_relaxed);
  }
  LatencyBuckets NotEmpty() const {
    LatencyBuckets found;
    for (size_t index = 0; index < kBuckets; ++index) {
      if (const uint64_t count = counts_[index].load(std::memory_order_relaxed)) found.emplace_back(Middle(index), count);
    }
    return found;
  }

  static size_t IndexOf(uint64_t ns) {
    const uint64_t value = ns >> kUnitBits;
    if (value < 2 * kHalf) return value;
    const unsigned shift = 63u - static_cast<unsigned>(__builtin_clzll(value)) - kHalfBits;
    const size_t index = shift * kHalf + (value >> shift);
    return index < kBuckets ? index : kBuckets - 1;
  }
  static uint64_t Middle(size_t index) {
    const size_t shift = index < 2 * kHalf ? 0 : index / kHalf - 1;
    const uint64_t low = (index - shift * kHalf) << shift;
    return (low << kUnitBits) + ((uint64_t{1} << (shift + kUnitBits)) >> 1);
  }

 private:
  static constexpr unsigned kUnitBits = 3;  // 8 ns
  static constexpr unsigned kHalfBits = 6;
  static constexpr size_t kHalf = size_t{1} << kHalfBits;
  static constexpr size_t kBuckets = 32 * kHalf;

  std::array<std::atomic<uint64_t>, kBuckets> counts_{};
};

}  // namespace adocd
