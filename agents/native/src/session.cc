#include "session.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "clock.h"
#include "collect.h"
#include "option_text.h"
#include "rate_requests.h"

namespace adocd {
namespace {

std::string CanonicalPath(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (!resolved) return path;  // the host has its own Env (in memory, encrypted), so there is only the name
  std::string result = resolved;
  std::free(resolved);
  return result;
}

// What RocksDB takes for a path's absolute form: of a relative one, the working directory alone (env/fs_posix.cc,
// GetAbsolutePath).
std::string AbsolutePath(const std::string& path) {
  if (!path.empty() && path[0] == '/') return path;
  char directory[PATH_MAX];
  return getcwd(directory, sizeof directory) ? directory : path;
}

// RocksDB's rule (file/filename.cc, InfoLogFileName): if db_log_dir is set, the LOG is named after the database's path.
std::string LogPath(const std::string& name, const std::string& log_dir) {
  if (log_dir.empty()) return CanonicalPath(name) + "/LOG";
  const std::string path = AbsolutePath(name);
  std::string prefix;
  for (size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                      c == '.' || c == '_';
    if (kept) {
      prefix += c;
    } else if (i > 0) {
      prefix += '_';
    }
  }
  return CanonicalPath(log_dir) + "/" + prefix + "_LOG";
}

std::string NewSessionId() {
  static std::atomic<uint64_t> opens{0};
  char text[64];
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::snprintf(text, sizeof text, "%d-%llx-%llu", static_cast<int>(getpid()),
                static_cast<unsigned long long>(now.tv_sec) * 1000000000ULL +
                    static_cast<unsigned long long>(now.tv_nsec),
                static_cast<unsigned long long>(++opens));
  return text;
}

// More column families than any database has had.
constexpr uint32_t kMostFamilyIds = 1'000'000;


}  // namespace

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string DatabaseId(const std::string& host, const std::string& path, const std::string& identity) {
  uint64_t hash = 14695981039346656037ULL;
  const std::string bytes = host + '\0' + path + '\0' + identity;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

const char* StatisticsLevelName(const rocksdb::Statistics* statistics) {
  if (!KeepsTickers(statistics)) return "none";
  return KeepsHistograms(statistics) ? "all" : "tickers";
}

rocksdb::Env::Priority PoolPriority(const std::string& pool) {
  if (pool == "high") return rocksdb::Env::Priority::HIGH;
  if (pool == "bottom") return rocksdb::Env::Priority::BOTTOM;
  return rocksdb::Env::Priority::LOW;
}

Session::Session(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles, OpenParts parts)
    : column_families(std::move(parts.column_families)),
      events(std::move(parts.events)),
      write_latency(parts.write_latency),
      control(events.get(), column_families.get()),
      own_handle_(std::move(parts.own_handle)),
      db_(db) {
  opened_monotonic_s = MonotonicSeconds();
  added_options = std::move(parts.added_options);
  Describe(parts.host_logger);
  List(db->DefaultColumnFamily());  // it lives as long as the database
  TakeOwnHandles();
  for (auto* handle : handles) {
    // DB::Open without descriptors deletes its default handle at once; DefaultColumnFamily() lives as long as db.
    if (handle && handle->GetID() != 0) AddColumnFamily(handle);
  }
  Publish(Collect(*this));
}

void Session::Describe(bool host_logger) {
  const rocksdb::DBOptions options = db_->GetDBOptions();
  path = CanonicalPath(db_->GetName());
  db_->GetDbIdentity(db_identity);
  id = DatabaseId(HostName(), path, db_identity);
  session_id = NewSessionId() + (attached() ? "-attached" : "");
  if (!host_logger) log_path = LogPath(db_->GetName(), options.db_log_dir);
  wal_dir = options.wal_dir.empty() ? path : CanonicalPath(options.wal_dir);
  rate_limiter = rate_requests::Turnable(options.rate_limiter);
  statistics = options.statistics;
  env = options.env;
  for (const auto& [name, value] : LiveOptions(options)) {
    control.RecordOriginal({Scope::kDatabase, "", name}, value);
  }
  if (rate_limiter) {
    control.RecordOriginal({Scope::kRateLimiter, "", kLimiterKey}, std::to_string(rate_limiter->GetBytesPerSecond()));
  }
  for (const char* pool : kPools) {
    control.RecordOriginal({Scope::kThreadPool, pool, kThreadsKey},
                           std::to_string(env->GetBackgroundThreads(PoolPriority(pool))));
  }
}

void Session::AddColumnFamily(rocksdb::ColumnFamilyHandle* handle) {
  attached() ? AddOwnHandle(handle->GetID()) : List(handle);
}

void Session::AddOwnHandle(uint32_t family_id) {
  const std::lock_guard<std::mutex> lock(own_handles_mutex_);
  if (own_handles_.count(family_id)) return;
  auto handle = own_handle_(family_id);
  if (!handle) return;
  List(handle.get());
  own_handles_[family_id] = std::move(handle);
}

void Session::TakeOwnHandles() {
  if (!attached()) return;
  // RocksDB lists column families by name only, and makes handles by id. Ids are given in turn and never again.
  std::vector<rocksdb::ColumnFamilyMetaData> families;
  db_->GetAllColumnFamilyMetaData(&families);
  for (uint32_t family_id = 1; own_handles_.size() + 1 < families.size() && family_id < kMostFamilyIds; ++family_id) {
    AddOwnHandle(family_id);
  }
}

void Session::GiveUpOwnHandles() {
  const std::lock_guard<std::mutex> lock(own_handles_mutex_);
  for (const auto& [family_id, handle] : own_handles_) column_families->HandleDeleted(handle.get());
  own_handles_.clear();
}

void Session::List(rocksdb::ColumnFamilyHandle* handle) {
  const std::string name = handle->GetName();
  const rocksdb::ColumnFamilyOptions options(db_->GetOptions(handle));
  for (const auto& [option, value] : LiveOptions(options)) {
    control.RecordOriginal({Scope::kColumnFamily, name, option}, value);
  }
  AddDataPaths(options.cf_paths);
  events->ColumnFamilyCreated(name);
  column_families->Add(name, handle->GetID(), handle);
}

void Session::AddDataPaths(const std::vector<rocksdb::DbPath>& paths) {
  const std::lock_guard<std::mutex> lock(data_paths_mutex_);
  for (const auto& each : paths) {
    std::string found = CanonicalPath(each.path);
    if (std::find(data_paths_.begin(), data_paths_.end(), found) == data_paths_.end()) {
      data_paths_.push_back(std::move(found));
    }
  }
}

std::vector<std::string> Session::DataPaths() const {
  const std::lock_guard<std::mutex> lock(data_paths_mutex_);
  return data_paths_;
}

void Session::ColumnFamilyDropped(uint32_t family_id) {
  const std::string name = column_families->Dropped(family_id);
  if (name.empty()) return;
  control.ForgetColumnFamily(name);
  events->ColumnFamilyDropped(name);
  const std::lock_guard<std::mutex> lock(own_handles_mutex_);
  const auto own = own_handles_.find(family_id);
  if (own == own_handles_.end()) return;
  column_families->HandleDeleted(own->second.get());
  own_handles_.erase(own);
}

bool Session::IsFresh(const Sample& sample, double now_s) const {
  const double begun_s = sample.monotonic_s - sample.collect_s;
  return now_s - sample.monotonic_s < kFreshSeconds && begun_s > events->newest_awaited_s();
}

void Session::LetGo() {
  closed_.store(true, std::memory_order_release);
  gate.CloseAndWait();
  GiveUpOwnHandles();
  // These outlive the database, and the next open would take our values for originals. What is no longer as we set it
  // is somebody else's by now: the host's, or another database's lease. The host waits for us meanwhile, so only short
  // calls are allowed: the longest is 0.1 s, for a rate that comes down (rate_requests.h).
  for (const auto& [key, original, written] : control.ChangedOutsideDatabase()) {
    if (key.scope == Scope::kThreadPool) {
      const auto pool = PoolPriority(key.owner);
      if (env->GetBackgroundThreads(pool) == std::stoi(written)) env->SetBackgroundThreads(std::stoi(original), pool);
    } else if (rate_limiter->GetBytesPerSecond() == std::stoll(written)) {
      rate_requests::Turn(rate_limiter.get(), std::stoll(original));
    }
  }
}

}  // namespace adocd
