#include "histograms.h"

#include <rocksdb/statistics.h>

namespace adocd {
namespace {

Histograms ReadHistograms(const rocksdb::Statistics& statistics) {
  Histograms histograms;
  for (const auto& [histogram, name] : rocksdb::HistogramsNameMap) {
    rocksdb::HistogramData data{};
    statistics.histogramData(histogram, &data);
    if (data.count > 0) histograms.push_back({name.c_str(), data.count, data.sum});
  }
  return histograms;
}

}  // namespace

bool KeepsTickers(const rocksdb::Statistics* statistics) {
  return statistics && statistics->get_stats_level() > rocksdb::StatsLevel::kExceptTickers;
}

bool KeepsHistograms(const rocksdb::Statistics* statistics) {
  return statistics && statistics->get_stats_level() > rocksdb::StatsLevel::kExceptHistogramOrTimers;
}

std::shared_ptr<const Histograms> HistogramCache::At(const rocksdb::Statistics* statistics, double now_s) {
  if (!KeepsHistograms(statistics)) {
    newest_.reset();
  } else if (!newest_ || now_s - read_s_ >= kMaxAgeSeconds) {
    newest_ = std::make_shared<const Histograms>(ReadHistograms(*statistics));
    read_s_ = now_s;
  }
  return newest_;
}

}  // namespace adocd
