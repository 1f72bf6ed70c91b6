#pragma once
#include <memory>

#include "sample.h"

namespace rocksdb {
class Statistics;
}

namespace adocd {

// Whether this Statistics object keeps histograms, which its level says; null: there is none.
bool KeepsHistograms(const rocksdb::Statistics* statistics);

// The histograms that have values, read at most every kMaxAgeSeconds. RocksDB has some 60 and adds up each from the
// 109 buckets of every core (8 at least): 130 us on up to 8 cores, twice everything else in a snapshot, and more in
// proportion on larger machines. Half a second, so that a client who samples once a second has its own window in each.
class HistogramCache {
 public:
  static constexpr double kMaxAgeSeconds = 0.5;

  // Null where none are kept. By one thread at a time.
  std::shared_ptr<const Histograms> At(const rocksdb::Statistics* statistics, double now_s);

 private:
  std::shared_ptr<const Histograms> newest_;
  double read_s_ = 0;
};

}  // namespace adocd
