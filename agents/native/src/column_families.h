#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sample.h"

namespace rocksdb {
class ColumnFamilyHandle;
}

namespace adocd {

// A column family for which the host has a handle.
struct ColumnFamily {
  std::string name;
  uint32_t id = 0;
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  // Incremented by every SetOptions, whoever calls it; a cache of options is valid while it stays the same.
  std::atomic<uint64_t> options_version{1};
  // Incremented by every flush, compaction, memtable switch and stall: only these change stall counts and levels.
  std::atomic<uint64_t> activity{1};
  // Caches for collecting samples (one thread at a time).
  std::shared_ptr<const std::string> options_json;
  uint64_t options_json_version = 0;
  std::optional<CfStats> cf_stats;
  uint64_t cf_stats_activity = 0;
  double cf_stats_read_s = 0;

 private:
  friend class ColumnFamilies;
  friend class ColumnFamilyUse;
  int uses = 0;           // guarded by ColumnFamilies::mutex_
  bool listed = true;     // false after it is dropped or its handle is deleted
  bool dropping = false;  // the host has called a drop of it, and RocksDB has not returned
};

class ColumnFamilies;

// Keeps the host from deleting a handle during a scope.
class ColumnFamilyUse {
 public:
  ColumnFamilyUse() = default;
  ColumnFamilyUse(ColumnFamilies* owner, std::shared_ptr<ColumnFamily> family)
      : owner_(owner), family_(std::move(family)) {}
  ColumnFamilyUse(ColumnFamilyUse&& other) noexcept = default;
  ColumnFamilyUse& operator=(ColumnFamilyUse&&) = delete;
  ~ColumnFamilyUse();
  explicit operator bool() const { return family_ != nullptr; }
  ColumnFamily* operator->() const { return family_.get(); }
  ColumnFamily& operator*() const { return *family_; }

 private:
  ColumnFamilies* owner_ = nullptr;
  std::shared_ptr<ColumnFamily> family_;
};

// The column families of one session. Their handles belong to the host, which may delete them at any time:
// HandleDeleted runs inside the deletion and waits until nobody uses the handle. So a dropped column family is kept
// alive only during such a use.
class ColumnFamilies {
 public:
  // Ignores a known handle: RocksDB's functions that create column families may call each other.
  void Add(const std::string& name, uint32_t id, rocksdb::ColumnFamilyHandle* handle);
  // The host begins a drop, which ends with Dropped or NotDropped.
  void Dropping(uint32_t id);
  void NotDropped(uint32_t id);
  // Returns the name of the column family that is no longer listed; empty if there is none.
  std::string Dropped(uint32_t id);
  void HandleDeleted(rocksdb::ColumnFamilyHandle* handle);
  void OptionsChanged(uint32_t id);
  void Active(const std::string& name);

  ColumnFamilyUse Use(const std::string& name);
  // The same, for a change: waits until no drop of it is in progress. SetOptions of a column family that is dropped
  // fails, but RocksDB counts its memtables from then on (InstallSuperVersionAndScheduleWork), so that its limit of the
  // WAL's size is wrong until the database is opened again. Ask right before SetOptions: a drop does not wait for it.
  ColumnFamilyUse UseToChange(const std::string& name);
  std::vector<ColumnFamilyUse> UseAll();
  std::vector<std::string> Names() const;
  // Those that were not dropped, but whose handle the host has deleted, as it does before it closes the database.
  std::vector<std::string> Closed() const;
  bool Has(const std::string& name) const;

 private:
  friend class ColumnFamilyUse;
  void Release(ColumnFamily& family);
  ColumnFamilyUse UseLocked(const std::string& name);

  mutable std::mutex mutex_;
  std::condition_variable released_, decided_;
  std::vector<std::shared_ptr<ColumnFamily>> families_;
  std::set<std::string> closed_;
};

}  // namespace adocd
