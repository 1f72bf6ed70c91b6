#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/statistics.h>

#include "change.h"
#include "column_families.h"
#include "control.h"
#include "events.h"
#include "gate.h"
#include "histograms.h"
#include "latency_histogram.h"
#include "limiter_lift.h"
#include "sample.h"

namespace adocd {

// What the agent creates for an open before it calls RocksDB.
struct OpenParts {
  std::shared_ptr<SessionEvents> events;
  std::shared_ptr<ColumnFamilies> column_families;
  OptionMap added_options;
  const LatencyHistogram* write_latency = nullptr;
  bool host_logger = false;  // the host has its own info_log, so there is no LOG to read
  // Makes a handle of our own for a column family's id; null at an open, where the host's handles serve. An agent that
  // came later has no listener, so nothing would tell it that the host deletes one of its own.
  std::function<std::unique_ptr<rocksdb::ColumnFamilyHandle>(uint32_t)> own_handle;
};

// One open of one database, from the successful open to the host's close. Use the database only between Gate::Enter and
// Leave.
class Session {
 public:
  static constexpr double kFreshSeconds = 0.05;

  Session(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles, OpenParts parts);

  // Call it before the host closes or destroys the database: waits until none of our threads uses it, then restores
  // the settings that this session changed and that the database shares with others.
  void LetGo();
  bool closed() const { return closed_.load(std::memory_order_acquire); }

  void AddColumnFamily(rocksdb::ColumnFamilyHandle* handle);
  void ColumnFamilyDropped(uint32_t id);
  // Where RocksDB puts the SST files of the column families that were ever listed (cf_paths, or else db_paths).
  std::vector<std::string> DataPaths() const;

  // Whether the database was open before the agent came: it has no listener, and handles of its own.
  bool attached() const { return static_cast<bool>(own_handle_); }
  // Makes handles of all column families but the default one, or gives them up: RocksDB does not close a database while
  // somebody has one. Nothing to do for a session that is not attached.
  void TakeOwnHandles();
  void GiveUpOwnHandles();

  // Call it only inside the gate.
  rocksdb::DB* db() const { return db_; }

  std::shared_ptr<const Sample> sample() const { return std::atomic_load(&sample_); }
  // Whether this sample can stand for the present: it is young, and no event that clients wait for is newer.
  bool IsFresh(const Sample& sample, double now_s) const;
  void Publish(std::shared_ptr<const Sample> sample) { std::atomic_store(&sample_, std::move(sample)); }

  // Set by the constructor, then constant.
  std::string id, path, db_identity, session_id, log_path, wal_dir;
  double opened_monotonic_s = 0;
  OptionMap added_options;
  std::shared_ptr<rocksdb::RateLimiter> rate_limiter;  // null if there is none that may be turned
  std::shared_ptr<rocksdb::Statistics> statistics;
  rocksdb::Env* env = nullptr;

  Gate gate;
  const std::shared_ptr<ColumnFamilies> column_families;
  const std::shared_ptr<SessionEvents> events;
  std::atomic<uint64_t> database_options_version{1};
  // Calls of SetOptions and SetDBOptions, whoever makes them. They take effect at once, but may return only after a
  // stall.
  std::atomic<int> option_calls_in_flight{0};
  const LatencyHistogram* const write_latency;  // null where writes are not timed
  Control control;
  LimiterLift limiter_lift;

  // Caches for collecting samples (one thread at a time).
  HistogramCache histograms;
  std::shared_ptr<const std::string> database_options_json;
  uint64_t database_options_json_version = 0;

 private:
  void Describe(bool host_logger);
  void AddOwnHandle(uint32_t id);
  void List(rocksdb::ColumnFamilyHandle* handle);
  void AddDataPaths(const std::vector<rocksdb::DbPath>& paths);

  const std::function<std::unique_ptr<rocksdb::ColumnFamilyHandle>(uint32_t)> own_handle_;
  std::mutex own_handles_mutex_;
  std::map<uint32_t, std::unique_ptr<rocksdb::ColumnFamilyHandle>> own_handles_;
  mutable std::mutex data_paths_mutex_;
  std::vector<std::string> data_paths_;

  rocksdb::DB* const db_;
  std::atomic<bool> closed_{false};
  std::shared_ptr<const Sample> sample_;
};

// FNV-1a (64 bits) of host name, NUL, path, NUL, identity, as 16 hexadecimal digits.
std::string DatabaseId(const std::string& host, const std::string& path, const std::string& identity);
std::string HostName();

const char* StatisticsLevelName(const rocksdb::Statistics* statistics);
inline constexpr const char* kPools[] = {"low", "high", "bottom"};
rocksdb::Env::Priority PoolPriority(const std::string& pool);

}  // namespace adocd
