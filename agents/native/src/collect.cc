#include "collect.h"

#include <cstdlib>

#include "cf_stats.h"
#include "clock.h"
#include "json_text.h"
#include "option_text.h"
#include "session.h"

namespace adocd {
namespace {

constexpr const char* kIsWriteStopped = "rocksdb.is-write-stopped";
constexpr const char* kDelayedWriteRate = "rocksdb.actual-delayed-write-rate";

constexpr const char* kDatabaseProperties[] = {
    kIsWriteStopped,
    kDelayedWriteRate,
    "rocksdb.num-running-flushes",
    "rocksdb.num-running-compactions",
    "rocksdb.background-errors",
};

constexpr const char* kColumnFamilyProperties[] = {
    "rocksdb.num-immutable-mem-table",
    "rocksdb.mem-table-flush-pending",
    "rocksdb.compaction-pending",
    "rocksdb.cur-size-active-mem-table",
    "rocksdb.cur-size-all-mem-tables",
    "rocksdb.estimate-pending-compaction-bytes",
    "rocksdb.base-level",
    "rocksdb.live-sst-files-size",
};

// RocksDB returns these properties only as text.
constexpr const char* kLevelFiles[] = {
    "rocksdb.num-files-at-level0", "rocksdb.num-files-at-level1", "rocksdb.num-files-at-level2",
    "rocksdb.num-files-at-level3", "rocksdb.num-files-at-level4", "rocksdb.num-files-at-level5",
    "rocksdb.num-files-at-level6",
};

using TextMap = std::map<std::string, std::string>;

std::optional<uint64_t> Unsigned(const TextMap& map, const char* key) {
  const auto found = map.find(key);
  if (found == map.end()) return std::nullopt;
  return std::strtoull(found->second.c_str(), nullptr, 10);
}

// rocksdb.cfstats costs more than everything else together (RocksDB builds about two hundred strings). So it is read
// only after an event that can change it, and once a second, because its counts change shortly after RocksDB has called
// its listeners.
const std::optional<CfStats>& CurrentCfStats(rocksdb::DB* db, ColumnFamily& family, size_t levels) {
  constexpr double kMaxAgeSeconds = 1;
  const double now_s = MonotonicSeconds();
  const uint64_t activity = family.activity.load();
  if (activity != family.cf_stats_activity || now_s - family.cf_stats_read_s >= kMaxAgeSeconds) {
    TextMap map;
    family.cf_stats.reset();
    if (db->GetMapProperty(family.handle, "rocksdb.cfstats", &map)) family.cf_stats = CfStatsOf(map, levels);
    family.cf_stats_activity = activity;
    family.cf_stats_read_s = now_s;
  }
  return family.cf_stats;
}

ColumnFamilySample ReadColumnFamily(Session& session, ColumnFamily& family) {
  rocksdb::DB* db = session.db();
  ColumnFamilySample sample;
  sample.name = family.name;
  sample.id = family.id;
  uint64_t value = 0;
  sample.properties.reserve(std::size(kColumnFamilyProperties) + std::size(kLevelFiles));
  for (const char* property : kColumnFamilyProperties) {
    if (db->GetIntProperty(family.handle, property, &value)) sample.properties.emplace_back(property, value);
  }
  std::string text;
  const size_t levels = static_cast<size_t>(db->NumberLevels(family.handle));
  for (size_t level = 0; level < std::size(kLevelFiles) && level < levels; ++level) {
    if (!db->GetProperty(family.handle, kLevelFiles[level], &text)) break;
    sample.properties.emplace_back(kLevelFiles[level], std::strtoull(text.c_str(), nullptr, 10));
  }
  sample.cf_stats = CurrentCfStats(db, family, levels);
  // Options change only by SetOptions, and the agent sees every call of it: no need to read them every time.
  const uint64_t version = family.options_version.load();
  if (!family.options_json || family.options_json_version != version || session.option_calls_in_flight > 0) {
    family.options_json = std::make_shared<const std::string>(
        JsonObject(ShownOptions(rocksdb::ColumnFamilyOptions(db->GetOptions(family.handle)))));
    family.options_json_version = version;
  }
  sample.options_json = family.options_json;
  return sample;
}

WriteCounters ReadWriteCounters(rocksdb::DB* db) {
  WriteCounters counters;
  TextMap map;
  if (!db->GetMapProperty(db->DefaultColumnFamily(), "rocksdb.dbstats", &map)) return counters;
  counters.writes = Unsigned(map, "db.user_keys_written");
  counters.written_bytes = Unsigned(map, "db.user_bytes_written");
  counters.wal_bytes = Unsigned(map, "db.wal_bytes_written");
  counters.stall_micros = Unsigned(map, "db.user_write_stall_micros");
  return counters;
}

IntProperties ReadTickers(const rocksdb::Statistics& statistics) {
  IntProperties tickers;
  tickers.reserve(rocksdb::TickersNameMap.size());
  for (const auto& [ticker, name] : rocksdb::TickersNameMap) {
    tickers.emplace_back(name.c_str(), statistics.getTickerCount(ticker));
  }
  return tickers;
}

JobTotals ReadJobs(const Session& session) {
  JobTotals totals;
  if (!session.attached()) {
    const JobCounters counters = session.events->Counters();
    totals.flushes = counters.flushes;
    totals.flush_written_bytes = counters.flush_written_bytes;
    totals.compactions = counters.compactions;
    totals.compaction_read_bytes = counters.compaction_read_bytes;
    totals.compaction_written_bytes = counters.compaction_written_bytes;
  } else if (KeepsTickers(session.statistics.get())) {
    totals.flush_written_bytes = session.statistics->getTickerCount(rocksdb::FLUSH_WRITE_BYTES);
    totals.compaction_read_bytes = session.statistics->getTickerCount(rocksdb::COMPACT_READ_BYTES);
    totals.compaction_written_bytes = session.statistics->getTickerCount(rocksdb::COMPACT_WRITE_BYTES);
  }
  return totals;
}

StallCondition ReadDatabaseProperties(rocksdb::DB* db, Sample* sample) {
  bool stopped = false, delayed = false;
  for (const char* property : kDatabaseProperties) {
    uint64_t value = 0;
    if (!db->GetIntProperty(property, &value)) continue;
    sample->properties.emplace_back(property, value);
    if (property == kIsWriteStopped) stopped = value != 0;
    if (property == kDelayedWriteRate) delayed = value != 0;
  }
  if (stopped) return StallCondition::kStopped;
  return delayed ? StallCondition::kDelayed : StallCondition::kNormal;
}

}  // namespace

std::shared_ptr<const Sample> Collect(Session& session) {
  rocksdb::DB* db = session.db();
  auto sample = std::make_shared<Sample>();
  const double begun_s = MonotonicSeconds();
  const auto before = session.sample();
  sample->sequence = before ? before->sequence + 1 : 1;

  session.events->StallSampled(ReadDatabaseProperties(db, sample.get()), begun_s);
  sample->writes = ReadWriteCounters(db);
  if (KeepsTickers(session.statistics.get())) sample->tickers = ReadTickers(*session.statistics);
  sample->histograms = session.histograms.At(session.statistics.get(), begun_s);

  if (session.write_latency) sample->write_latency = session.write_latency->NotEmpty();

  const uint64_t version = session.database_options_version.load();
  if (!session.database_options_json || session.database_options_json_version != version ||
      session.option_calls_in_flight > 0) {
    session.database_options_json =
        std::make_shared<const std::string>(JsonObject(LiveOptions(db->GetDBOptions())));
    session.database_options_json_version = version;
  }
  sample->database_options_json = session.database_options_json;
  if (session.rate_limiter) sample->limiter_bytes_per_s = session.rate_limiter->GetBytesPerSecond();
  sample->threads_low = session.env->GetBackgroundThreads(rocksdb::Env::Priority::LOW);
  sample->threads_high = session.env->GetBackgroundThreads(rocksdb::Env::Priority::HIGH);
  sample->threads_bottom = session.env->GetBackgroundThreads(rocksdb::Env::Priority::BOTTOM);

  auto families = session.column_families->UseAll();
  sample->column_families.reserve(families.size());
  for (auto& family : families) sample->column_families.push_back(ReadColumnFamily(session, *family));

  sample->monotonic_s = MonotonicSeconds();
  sample->stall = session.events->Stall(sample->monotonic_s);
  sample->jobs = ReadJobs(session);
  sample->collect_s = sample->monotonic_s - begun_s;
  return sample;
}

void LookAtStall(Session& session) {
  uint64_t stopped = 0, delayed = 0;
  session.db()->GetIntProperty(kIsWriteStopped, &stopped);
  session.db()->GetIntProperty(kDelayedWriteRate, &delayed);
  session.events->StallSampled(
      stopped ? StallCondition::kStopped : delayed ? StallCondition::kDelayed : StallCondition::kNormal,
      MonotonicSeconds());
}

bool ReadIntProperty(Session& session, const std::string& column_family, const std::string& property,
                     uint64_t* value) {
  const auto family = session.column_families->Use(column_family);
  if (!family) return false;
  if (session.db()->GetIntProperty(family->handle, property, value)) return true;
  std::string text;
  if (!session.db()->GetProperty(family->handle, property, &text)) return false;
  char* end = nullptr;
  *value = std::strtoull(text.c_str(), &end, 10);
  return end != text.c_str() && *end == '\0';
}

}  // namespace adocd
