#include "options_added.h"

#include <rocksdb/rate_limiter.h>
#include <rocksdb/statistics.h>

#include "environment.h"
#include "listener.h"
#include "query.h"
#include "write_timing.h"

namespace adocd {
namespace {

constexpr uint64_t kDefaultDelayedWriteRate = 16 * 1024 * 1024;
// With a rate limiter, RocksDB changes bytes_per_sync 0 into 1 MiB, at open and in every SetDBOptions. Only a value
// that no file reaches keeps it off.
constexpr uint64_t kBytesPerSyncOff = uint64_t{1} << 62;

void AddStatistics(hooks::OpenInProgress* open) {
  const std::string level = AddedStatisticsLevel();
  if (level == "none" || open->options.statistics) return;
  open->options.statistics = rocksdb::CreateDBStatistics();
  open->options.statistics->set_stats_level(level == "tickers" ? rocksdb::StatsLevel::kExceptHistogramOrTimers
                                                               : rocksdb::StatsLevel::kExceptDetailedTimers);
  open->parts.added_options["statistics"] = level;
}

void AddRateLimiter(hooks::OpenInProgress* open) {
  const auto rate = ParseUnsigned(EnvironmentText("ADOCD_AGENT_RATE_LIMITER"));
  if (!rate || open->options.rate_limiter) return;
  auto& options = open->options;
  auto& added = open->parts.added_options;
  options.rate_limiter.reset(rocksdb::NewGenericRateLimiter(static_cast<int64_t>(*rate)));
  added["rate_limiter"] = std::to_string(*rate);
  // A rate limiter changes the defaults of two other options; keep the values that they have without one.
  if (options.bytes_per_sync == 0) {
    options.bytes_per_sync = kBytesPerSyncOff;
    added["bytes_per_sync"] = std::to_string(kBytesPerSyncOff);
  }
  if (options.delayed_write_rate == 0) {
    options.delayed_write_rate = kDefaultDelayedWriteRate;
    added["delayed_write_rate"] = std::to_string(kDefaultDelayedWriteRate);
  }
}

}  // namespace

std::string AddedStatisticsLevel() {
  const std::string level = EnvironmentText("ADOCD_AGENT_STATISTICS");
  return level.empty() ? "none" : level;
}

bool CheckAddedOptions(std::string* error) {
  const std::string level = AddedStatisticsLevel();
  if (level != "none" && level != "tickers" && level != "all") {
    *error = "ADOCD_AGENT_STATISTICS is '" + level + "'; it must be none, tickers or all";
    return false;
  }
  if (const std::string wish = write_timing::Wish(); wish != "on" && wish != "off") {
    *error = "ADOCD_AGENT_LATENCY is '" + wish + "'; it must be on or off";
    return false;
  }
  const std::string rate = EnvironmentText("ADOCD_AGENT_RATE_LIMITER");
  const auto value = ParseUnsigned(rate);
  if (!rate.empty() && (!value || *value < 1 || *value > static_cast<uint64_t>(INT64_MAX))) {
    *error = "ADOCD_AGENT_RATE_LIMITER is '" + rate + "'; it must be a whole number of bytes per second";
    return false;
  }
  return true;
}

void AddOptions(hooks::OpenInProgress* open) {
  open->parts.events = std::make_shared<SessionEvents>();
  open->parts.column_families = std::make_shared<ColumnFamilies>();
  open->parts.host_logger = open->options.info_log != nullptr;
  RemoveOurListeners(&open->options.listeners);
  open->options.listeners.push_back(MakeListener(open->parts.events, open->parts.column_families));
  open->parts.added_options["listeners"] = "adocd";
  AddStatistics(open);
  AddRateLimiter(open);
}

}  // namespace adocd
