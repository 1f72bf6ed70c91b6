#pragma once
#include <memory>

#include "sample.h"

namespace rocksdb {
class Statistics;
}

namespace adocd {

// Whether the level of this Statistics object includes tickers, or histograms too; false for null.
bool KeepsTickers(const rocksdb::Statistics* statistics);
bool KeepsHistograms(const rocksdb::Statistics* statistics);

// Reads the histograms that have values, at most every kMaxAgeSeconds. RocksDB has about 60 and adds up each from 109
// buckets per core (of at least 8): this takes 130 us on up to 8 cores, twice as long as all else in a snapshot, and
// proportionally more on larger machines. Half a second gives a client that samples once a second new values each time.
class HistogramCache {
 public:
  static constexpr double kMaxAgeSeconds = 0.5;

  // Null if no histograms are kept. Call it from one thread at a time.
  std::shared_ptr<const Histograms> At(const rocksdb::Statistics* statistics, double now_s);

 private:
  std::shared_ptr<const Histograms> newest_;
  double read_s_ = 0;
};

}  // namespace adocd
