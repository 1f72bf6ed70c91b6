#pragma once
#include <memory>
#include <vector>

#include <rocksdb/db.h>

#include "session.h"

namespace adocd {

// The address that interposition must lead to.
const void* InterposedOpenAddress();

// What the interposed functions tell the agent. None of these throws; for a database that is not ours (read-only,
// secondary, opened before a fork) they do nothing.
namespace hooks {

struct OpenInProgress {
  rocksdb::DBOptions options;  // the host's, with what the agent adds
  OpenParts parts;
};

// Null when the agent stays out of this open.
std::unique_ptr<OpenInProgress> PrepareOpen(const rocksdb::DBOptions& host_options) noexcept;
void Opened(OpenInProgress& open, rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles) noexcept;
void Closing(const void* db) noexcept;
// The host tries to close: nobody of ours may be inside until it is known whether it did.
void Pausing(const void* db) noexcept;
void Resuming(const void* db) noexcept;
void Created(const void* db, rocksdb::ColumnFamilyHandle* handle) noexcept;
void Created(const void* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles) noexcept;
void Dropped(const void* db, rocksdb::ColumnFamilyHandle* handle) noexcept;
void OptionsChanging(const void* db) noexcept;
// Each ends what OptionsChanging began.
void OptionsChanged(const void* db, rocksdb::ColumnFamilyHandle* handle) noexcept;
void DatabaseOptionsChanged(const void* db) noexcept;

}  // namespace hooks
}  // namespace adocd
