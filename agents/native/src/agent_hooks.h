#pragma once
#include <memory>
#include <vector>

#include <rocksdb/db.h>

#include "real_rocksdb.h"
#include "session.h"

namespace adocd {

// The address that the symbol must resolve to if interposition works.
const void* InterposedOpenAddress();

// What the interposed functions tell the agent. None of these throws. They do nothing for a database that the agent
// does not observe (read-only, secondary, opened before a fork).
namespace hooks {

struct OpenInProgress {
  rocksdb::DBOptions options;  // the host's, with what the agent adds
  OpenParts parts;
};

// Null if the agent does not observe this open.
std::unique_ptr<OpenInProgress> PrepareOpen(const rocksdb::DBOptions& host_options) noexcept;
void Opened(OpenInProgress& open, rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles) noexcept;
void Closing(const void* db) noexcept;
// The host tries to close: none of our threads may be inside until it is known whether the database is closed.
void Pausing(const void* db) noexcept;
void Resuming(const void* db) noexcept;
void Created(const void* db, rocksdb::ColumnFamilyHandle* handle) noexcept;
void Created(const void* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles) noexcept;
// The host drops column families, until the scope ends: a change of theirs waits for that, unless it is about to call
// SetOptions already. RocksDB says nothing of which are gone when it fails, or throws; so then each is looked for.
class Drop {
 public:
  // The handles must outlive it.
  Drop(const void* db, rocksdb::ColumnFamilyHandle* const* handles, size_t count) noexcept;
  ~Drop();
  Drop(const Drop&) = delete;
  Drop& operator=(const Drop&) = delete;
  void Succeeded() { succeeded_ = true; }

 private:
  const void* const db_;
  rocksdb::ColumnFamilyHandle* const* const handles_;
  const size_t count_;
  // Kept, because the agent may let go of the database meanwhile, and a change may wait for this drop.
  std::shared_ptr<Session> session_;
  bool succeeded_ = false;
};

// Somebody changes options, until the scope ends, also where RocksDB throws: what is read meanwhile is not kept.
class OptionCall {
 public:
  // Without a handle, of the database itself.
  explicit OptionCall(const void* db, rocksdb::ColumnFamilyHandle* handle = nullptr) noexcept;
  ~OptionCall();
  OptionCall(const OptionCall&) = delete;
  OptionCall& operator=(const OptionCall&) = delete;

 private:
  std::shared_ptr<Session> session_;
  rocksdb::ColumnFamilyHandle* const handle_;
};

void FamilyOptionsSet(const void* db, rocksdb::ColumnFamilyHandle* handle, const real::TextMap& options) noexcept;

}  // namespace hooks
}  // namespace adocd
