// The replacements of librocksdb's functions. Each tells the agent and calls the real function exactly once; no
// exception of ours reaches the host.
#include "agent_hooks.h"
#include "rate_requests.h"
#include "real_rocksdb.h"
#include "replacements.h"
#include "symbols.h"
#include "write_timing.h"

#define ADOCD_INTERPOSE(symbol) __asm__(symbol) __attribute__((visibility("default"), used))

namespace adocd {

using rocksdb::ColumnFamilyHandle;
using rocksdb::ColumnFamilyOptions;
using rocksdb::RateLimiter;
using rocksdb::Status;

Status InterposedOpen(const rocksdb::DBOptions& options, const std::string& name, const real::Families& families,
                      real::Handles* handles, rocksdb::DB** db, bool seq_per_batch, bool batch_per_txn)
    ADOCD_INTERPOSE(ADOCD_OPEN);
void InterposedDestroy0(void* self) ADOCD_INTERPOSE(ADOCD_DESTROY0);
void InterposedDestroy1(void* self) ADOCD_INTERPOSE(ADOCD_DESTROY1);
void InterposedDestroy2(void* self) ADOCD_INTERPOSE(ADOCD_DESTROY2);
Status InterposedClose(void* self) ADOCD_INTERPOSE(ADOCD_CLOSE);
Status InterposedWrite(void* self, const rocksdb::WriteOptions& options, rocksdb::WriteBatch* batch, void* callback,
                       uint64_t* log_used, uint64_t log_ref, bool disable_memtable, uint64_t* seq_used,
                       size_t batch_count, void* pre_release, void* post_memtable) ADOCD_INTERPOSE(ADOCD_WRITE);
Status InterposedCreate(void* self, const ColumnFamilyOptions& options, const std::string& name,
                        ColumnFamilyHandle** handle) ADOCD_INTERPOSE(ADOCD_CREATE);
Status InterposedCreateNames(void* self, const ColumnFamilyOptions& options, const std::vector<std::string>& names,
                             real::Handles* handles) ADOCD_INTERPOSE(ADOCD_CREATE_NAMES);
Status InterposedCreateFamilies(void* self, const real::Families& families, real::Handles* handles)
    ADOCD_INTERPOSE(ADOCD_CREATE_FAMILIES);
Status InterposedDrop(void* self, ColumnFamilyHandle* handle) ADOCD_INTERPOSE(ADOCD_DROP);
Status InterposedDropMany(void* self, const real::Handles& handles) ADOCD_INTERPOSE(ADOCD_DROP_MANY);
Status InterposedSetOptions(void* self, ColumnFamilyHandle* handle, const real::TextMap& options)
    ADOCD_INTERPOSE(ADOCD_SET_OPTIONS);
Status InterposedSetDbOptions(void* self, const real::TextMap& options) ADOCD_INTERPOSE(ADOCD_SET_DB_OPTIONS);
size_t InterposedRequestToken(RateLimiter* limiter, size_t bytes, size_t alignment, rocksdb::Env::IOPriority priority,
                              rocksdb::Statistics* statistics, RateLimiter::OpType type)
    ADOCD_INTERPOSE(ADOCD_REQUEST_TOKEN);

Status InterposedOpen(const rocksdb::DBOptions& options, const std::string& name, const real::Families& families,
                      real::Handles* handles, rocksdb::DB** db, bool seq_per_batch, bool batch_per_txn) {
  const auto open = hooks::PrepareOpen(options);
  if (!open) return real::Open()(options, name, families, handles, db, seq_per_batch, batch_per_txn);
  Status status = real::Open()(open->options, name, families, handles, db, seq_per_batch, batch_per_txn);
  if (status.ok()) hooks::Opened(*open, *db, *handles);
  return status;
}

void InterposedDestroy0(void* self) {
  hooks::Closing(self);
  real::Destroy0()(self);
}

void InterposedDestroy1(void* self) {
  hooks::Closing(self);
  real::Destroy1()(self);
}

void InterposedDestroy2(void* self) {
  hooks::Closing(self);
  real::Destroy2()(self);
}

Status InterposedClose(void* self) {
  hooks::Pausing(self);
  Status status = real::Close()(self);
  // Aborted means that the host has unreleased snapshots, so RocksDB did not close the database.
  if (status.IsAborted()) {
    hooks::Resuming(self);
  } else {
    hooks::Closing(self);
  }
  return status;
}

// The one door of all writes: Put, Merge, Delete and Write of DBImpl end here, and so do the commits and prepares of
// TransactionDB, which go past DBImpl::Write. librocksdb calls it through its procedure linkage table. DBImpl::Write
// could be had as well (the virtual table's entry is a relocation by name), but would miss the transactions; DB::Put
// and its kind are called through tables of classes on top (OptimisticTransactionDB, WritePreparedTxnDB). A writer of a
// group enters here whether it leads the group or follows, so both count, from their own entry to their own return.
// What it leaves out of the host's Put is the making of the batch, 0.1 to 0.3 us. Read-only and secondary databases
// refuse a write before this; a batch that is null or cannot be written comes back at once, and counts as it is.
Status InterposedWrite(void* self, const rocksdb::WriteOptions& options, rocksdb::WriteBatch* batch, void* callback,
                       uint64_t* log_used, uint64_t log_ref, bool disable_memtable, uint64_t* seq_used,
                       size_t batch_count, void* pre_release, void* post_memtable) {
  const write_timing::Timer timer(self);
  return real::Write()(self, options, batch, callback, log_used, log_ref, disable_memtable, seq_used, batch_count,
                       pre_release, post_memtable);
}

Status InterposedCreate(void* self, const ColumnFamilyOptions& options, const std::string& name,
                        ColumnFamilyHandle** handle) {
  Status status = real::Create()(self, options, name, handle);
  if (status.ok()) hooks::Created(self, *handle);
  return status;
}

Status InterposedCreateNames(void* self, const ColumnFamilyOptions& options, const std::vector<std::string>& names,
                             real::Handles* handles) {
  Status status = real::CreateNames()(self, options, names, handles);
  hooks::Created(self, *handles);  // some may exist after a failure
  return status;
}

Status InterposedCreateFamilies(void* self, const real::Families& families, real::Handles* handles) {
  Status status = real::CreateFamilies()(self, families, handles);
  hooks::Created(self, *handles);
  return status;
}

Status InterposedDrop(void* self, ColumnFamilyHandle* handle) {
  hooks::Drop drop(self, &handle, 1);
  Status status = real::Drop()(self, handle);
  if (status.ok()) drop.Succeeded();
  return status;
}

Status InterposedDropMany(void* self, const real::Handles& handles) {
  hooks::Drop drop(self, handles.data(), handles.size());
  Status status = real::DropMany()(self, handles);  // stops at the first failure
  if (status.ok()) drop.Succeeded();
  return status;
}

Status InterposedSetOptions(void* self, ColumnFamilyHandle* handle, const real::TextMap& options) {
  const hooks::OptionCall call(self, handle);  // options may have changed despite an error
  Status status = real::SetOptions()(self, handle, options);
  if (status.ok()) hooks::FamilyOptionsSet(self, handle, options);
  return status;
}

Status InterposedSetDbOptions(void* self, const real::TextMap& options) {
  const hooks::OptionCall call(self);
  return real::SetDbOptions()(self, options);
}

// Flushes and compactions request bytes here: its entry in the limiters' virtual tables is a relocation by name. They
// ask again for what one request leaves. This one tells the agent nothing.
size_t InterposedRequestToken(RateLimiter* limiter, size_t bytes, size_t alignment, rocksdb::Env::IOPriority priority,
                              rocksdb::Statistics* statistics, RateLimiter::OpType type) {
  const size_t most = type == RateLimiter::OpType::kWrite ? rate_requests::Bounded(limiter, bytes) : bytes;
  return real::RequestToken()(limiter, most, alignment, priority, statistics, type);
}

std::vector<Replacement> Replacements() {
  const auto pointer = [](auto function) { return reinterpret_cast<void*>(function); };
  return {
      {ADOCD_OPEN, pointer(&InterposedOpen)},
      {ADOCD_DESTROY0, pointer(&InterposedDestroy0)},
      {ADOCD_DESTROY1, pointer(&InterposedDestroy1)},
      {ADOCD_DESTROY2, pointer(&InterposedDestroy2)},
      {ADOCD_CLOSE, pointer(&InterposedClose)},
      {ADOCD_WRITE, pointer(&InterposedWrite)},
      {ADOCD_CREATE, pointer(&InterposedCreate)},
      {ADOCD_CREATE_NAMES, pointer(&InterposedCreateNames)},
      {ADOCD_CREATE_FAMILIES, pointer(&InterposedCreateFamilies)},
      {ADOCD_DROP, pointer(&InterposedDrop)},
      {ADOCD_DROP_MANY, pointer(&InterposedDropMany)},
      {ADOCD_SET_OPTIONS, pointer(&InterposedSetOptions)},
      {ADOCD_SET_DB_OPTIONS, pointer(&InterposedSetDbOptions)},
      {ADOCD_REQUEST_TOKEN, pointer(&InterposedRequestToken)},
  };
}

const void* InterposedOpenAddress() { return reinterpret_cast<const void*>(&InterposedOpen); }

}  // namespace adocd
