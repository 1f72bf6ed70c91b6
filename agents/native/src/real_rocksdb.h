#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/rate_limiter.h>

namespace adocd::real {

// librocksdb's own functions, which interpose.cc replaces. Member functions take `this` as the first argument, which is
// the same call in the platform's C++ ABI. Each accessor looks up its symbol once.
using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;
using Families = std::vector<rocksdb::ColumnFamilyDescriptor>;
using TextMap = std::unordered_map<std::string, std::string>;

using OpenFn = rocksdb::Status (*)(const rocksdb::DBOptions&, const std::string&, const Families&, Handles*,
                                   rocksdb::DB**, bool, bool);
using DestroyFn = void (*)(void*);
using CloseFn = rocksdb::Status (*)(void*);
// Of the write path's own types only pointers pass through here.
using WriteFn = rocksdb::Status (*)(void*, const rocksdb::WriteOptions&, rocksdb::WriteBatch*, void* callback,
                                    uint64_t* log_used, uint64_t log_ref, bool disable_memtable, uint64_t* seq_used,
                                    size_t batch_count, void* pre_release, void* post_memtable);
using CreateFn = rocksdb::Status (*)(void*, const rocksdb::ColumnFamilyOptions&, const std::string&,
                                     rocksdb::ColumnFamilyHandle**);
using CreateNamesFn = rocksdb::Status (*)(void*, const rocksdb::ColumnFamilyOptions&,
                                          const std::vector<std::string>&, Handles*);
using CreateFamiliesFn = rocksdb::Status (*)(void*, const Families&, Handles*);
using DropFn = rocksdb::Status (*)(void*, rocksdb::ColumnFamilyHandle*);
using DropManyFn = rocksdb::Status (*)(void*, const Handles&);
using SetOptionsFn = rocksdb::Status (*)(void*, rocksdb::ColumnFamilyHandle*, const TextMap&);
using RequestTokenFn = size_t (*)(rocksdb::RateLimiter*, size_t bytes, size_t alignment, rocksdb::Env::IOPriority,
                                  rocksdb::Statistics*, rocksdb::RateLimiter::OpType);
// Makes a handle of a column family's own, for its id; null if there is none.
using FamilyHandleFn = std::unique_ptr<rocksdb::ColumnFamilyHandle> (*)(void*, uint32_t);
using SetDbOptionsFn = rocksdb::Status (*)(void*, const TextMap&);

// Looks in this librocksdb, a handle of dlopen, from now on: an agent that was loaded late does not come before it. Call
// it before any other function here.
void LookIn(void* librocksdb);

// librocksdb's own definition; null if it has none.
void* Find(const char* name);

// librocksdb's definition of Open; null if the dynamic linker does not find it after ours.
const void* FindOpen();

// Whether librocksdb has the write path that Write calls; without it nobody calls ours.
bool HasWrite();

OpenFn Open();
DestroyFn Destroy0();
DestroyFn Destroy1();
DestroyFn Destroy2();
CloseFn Close();
WriteFn Write();
CreateFn Create();
CreateNamesFn CreateNames();
CreateFamiliesFn CreateFamilies();
DropFn Drop();
DropManyFn DropMany();
SetOptionsFn SetOptions();
SetDbOptionsFn SetDbOptions();
FamilyHandleFn FamilyHandle();
RequestTokenFn RequestToken();

}  // namespace adocd::real
