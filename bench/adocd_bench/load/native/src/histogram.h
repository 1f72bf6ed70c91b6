// Latencies in nanoseconds, in log-linear buckets like HdrHistogram's with three significant digits: 2,048 sub-buckets,
// so that a bucket is at most 1/1024 of its values wide, from 1 ns to 73 minutes (longer values count as 73 minutes).
// Each thread has its own, without a lock; they are added up at the end. Source: HdrHistogram, hdrhistogram.org. Unlike
// there, a count has 32 bits: a thread's histogram takes 132 KiB, and only the pages that are written take memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace adocd::load {

class Histogram {
 public:
  static constexpr int kPrecisionBits = 11;
  static constexpr int kMostBits = 42;
  static constexpr uint64_t kHalf = uint64_t{1} << (kPrecisionBits - 1);
  static constexpr size_t kCounts = (kMostBits - kPrecisionBits + 2) * kHalf;

  Histogram() : counts_(static_cast<uint32_t*>(std::calloc(kCounts, sizeof(uint32_t))), &std::free) {
    if (!counts_) throw std::bad_alloc();
  }

  void Record(uint64_t ns) {
    ++counts_[IndexOf(std::min(ns, (uint64_t{1} << kMostBits) - 1))];
    most_ns_ = std::max(most_ns_, ns);
  }

  static size_t IndexOf(uint64_t ns) {
    if (ns < 2 * kHalf) return ns;
    const int shift = 64 - __builtin_clzll(ns) - kPrecisionBits;
    return static_cast<size_t>(shift) * kHalf + (ns >> shift);
  }

  // The lowest value of a bucket, which ends at the next bucket's lowest value.
  static uint64_t LowestOf(size_t index) {
    if (index < 2 * kHalf) return index;
    const size_t shift = index / kHalf - 1;
    return (index - shift * kHalf) << shift;
  }

  uint32_t Count(size_t index) const { return counts_[index]; }
  uint64_t most_ns() const { return most_ns_; }

 private:
  std::unique_ptr<uint32_t[], decltype(&std::free)> counts_;
  uint64_t most_ns_ = 0;
};

// A bucket in whole microseconds, rounded down, both ends inclusive.
struct Bucket {
  uint64_t lowest_us;
  uint64_t highest_us;
  uint64_t count;
};

// The sum of several threads' histograms.
class Total {
 public:
  void Add(const Histogram& one) {
    for (size_t i = 0; i < Histogram::kCounts; ++i) counts_[i] += one.Count(i);
    most_ns_ = std::max(most_ns_, one.most_ns());
  }

  // Ascending and without overlap: a bucket begins at its lowest value's microsecond, and buckets that begin at the
  // same microsecond are merged.
  std::vector<Bucket> Buckets() const {
    std::vector<Bucket> buckets;
    for (size_t i = 0; i < Histogram::kCounts; ++i) {
      if (counts_[i] == 0) continue;
      const uint64_t lowest = Histogram::LowestOf(i) / 1000;
      const uint64_t highest = std::max(lowest + 1, Histogram::LowestOf(i + 1) / 1000) - 1;
      if (!buckets.empty() && buckets.back().lowest_us == lowest) {
        buckets.back().count += counts_[i];
        buckets.back().highest_us = std::max(buckets.back().highest_us, highest);
      } else {
        buckets.push_back({lowest, highest, counts_[i]});
      }
    }
    return buckets;
  }

  uint64_t most_us() const { return most_ns_ / 1000; }

 private:
  std::vector<uint64_t> counts_ = std::vector<uint64_t>(Histogram::kCounts, 0);
  uint64_t most_ns_ = 0;
};

}  // namespace adocd::load
