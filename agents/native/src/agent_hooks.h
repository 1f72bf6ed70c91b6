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
void Dropped(const void* db, rocksdb::ColumnFamilyHandle* handle) noexcept;
void OptionsChanging(const void* db) noexcept;
// Each ends what OptionsChanging began.
void OptionsChanged(const void* db, rocksdb::ColumnFamilyHandle* handle, const real::TextMap& options,
                    bool ok) noexcept;
void DatabaseOptionsChanged(const void* db) noexcept;

}  // namespace hooks
}  // namespace adocd
