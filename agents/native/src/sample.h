#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "events.h"
#include "latency_histogram.h"
#include "stall_tracker.h"

namespace adocd {

using IntProperties = std::vector<std::pair<const char*, uint64_t>>;

struct StallCounts {
  uint64_t memtable_stops = 0, memtable_slowdowns = 0;
  uint64_t l0_stops = 0, l0_slowdowns = 0;
  uint64_t pending_bytes_stops = 0, pending_bytes_slowdowns = 0;
};

// Figures of one column family: how often each cause stalled its writes, and the size of its SST files by level.
struct CfStats {
  std::optional<StallCounts> stall_counts;  // none where RocksDB has no such counts under a name that we know
  std::vector<uint64_t> level_bytes;
};

// The count and the sum of the values in one of RocksDB's histograms, in the histogram's unit.
struct HistogramTotals {
  const char* name = nullptr;
  uint64_t count = 0, sum = 0;
};
using Histograms = std::vector<HistogramTotals>;

struct ColumnFamilySample {
  std::string name;
  uint32_t id = 0;
  IntProperties properties;
  std::optional<CfStats> cf_stats;
  std::shared_ptr<const std::string> options_json;
};

struct WriteCounters {
  std::optional<uint64_t> writes, written_bytes, wal_bytes, stall_micros;
};

// What background jobs have done; nothing for what nobody counts: without our listener only Statistics do.
struct JobTotals {
  std::optional<uint64_t> flushes, flush_written_bytes, compactions, compaction_read_bytes, compaction_written_bytes;
};

// All figures of one session at one time. Immutable once published.
struct Sample {
  uint64_t sequence = 0;
  double monotonic_s = 0;
  double collect_s = 0;
  StallTotals stall;
  WriteCounters writes;
  JobTotals jobs;
  IntProperties properties;
  std::optional<IntProperties> tickers;
  std::shared_ptr<const Histograms> histograms;  // null if none are kept
  std::optional<LatencyBuckets> write_latency;
  std::shared_ptr<const std::string> database_options_json;
  std::optional<int64_t> limiter_bytes_per_s;
  int threads_low = 0, threads_high = 0, threads_bottom = 0;
  std::vector<ColumnFamilySample> column_families;
};

}  // namespace adocd
