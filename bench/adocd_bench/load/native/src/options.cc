#include "options.h"

#include <rocksdb/convenience.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/statistics.h>

#include <unordered_map>

namespace adocd::load {
namespace {

constexpr uint64_t kDefaultDelayedWriteRate = 16 << 20;
// A rate limiter changes two other options (rocksdb/db/db_impl/db_impl_open.cc, SanitizeOptions): bytes_per_sync 0
// becomes 1 MiB, and delayed_write_rate becomes the limiter's rate. Unless the spec names them, both keep the value
// that they have without a limiter. For bytes_per_sync, only a value that no file reaches means "off".
constexpr uint64_t kBytesPerSyncOff = uint64_t{1} << 62;

bool IsUnknown(const rocksdb::Status& status) {
  const std::string text = status.ToString();
  return text.find("Could not find option") != std::string::npos ||
         text.find("Unrecognized option") != std::string::npos;
}

void SetOption(const std::string& name, const std::string& value, rocksdb::DBOptions* database,
               rocksdb::ColumnFamilyOptions* column_family) {
  rocksdb::ConfigOptions strict;
  strict.ignore_unknown_options = false;
  const std::unordered_map<std::string, std::string> one = {{name, value}};
  const auto of_database = rocksdb::GetDBOptionsFromMap(strict, rocksdb::DBOptions(*database), one, database);
  if (of_database.ok()) return;
  const auto of_family = rocksdb::GetColumnFamilyOptionsFromMap(
      strict, rocksdb::ColumnFamilyOptions(*column_family), one, column_family);
  if (of_family.ok()) return;
  if (IsUnknown(of_database) && IsUnknown(of_family)) {
    throw SpecError("options." + name + " is no option of this RocksDB, neither of a database nor of a column family");
  }
  throw SpecError("options." + name + " cannot be " + value + ": RocksDB says " +
                  (IsUnknown(of_database) ? of_family : of_database).ToString());
}

void AddRateLimiter(const Spec& spec, rocksdb::DBOptions* database) {
  database->rate_limiter.reset(rocksdb::NewGenericRateLimiter(
      static_cast<int64_t>(*spec.rate_limiter_bytes_per_s), 100'000, 10, rocksdb::RateLimiter::Mode::kWritesOnly,
      spec.auto_tuned));
  if (database->bytes_per_sync == 0) database->bytes_per_sync = kBytesPerSyncOff;
  if (database->delayed_write_rate == 0) database->delayed_write_rate = kDefaultDelayedWriteRate;
}

}  // namespace

rocksdb::Options MakeOptions(const Spec& spec) {
  rocksdb::DBOptions database;
  rocksdb::ColumnFamilyOptions column_family;
  database.create_if_missing = spec.create;
  column_family.compression = rocksdb::kNoCompression;
  for (const auto& [name, value] : spec.options) SetOption(name, value, &database, &column_family);
  if (spec.rate_limiter_bytes_per_s) AddRateLimiter(spec, &database);
  if (spec.statistics != "none") {
    database.statistics = rocksdb::CreateDBStatistics();
    database.statistics->set_stats_level(spec.statistics == "tickers" ? rocksdb::StatsLevel::kExceptHistogramOrTimers
                                                                      : rocksdb::StatsLevel::kExceptDetailedTimers);
  }
  return rocksdb::Options(database, column_family);
}

}  // namespace adocd::load
