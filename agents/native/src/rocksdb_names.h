#pragma once
#include <rocksdb/listener.h>

namespace adocd {

// RocksDB's enumerators in the words its own LOG uses. Static strings.
const char* FlushReasonName(rocksdb::FlushReason reason);
const char* CompactionReasonName(rocksdb::CompactionReason reason);
const char* BackgroundErrorReasonName(rocksdb::BackgroundErrorReason reason);

}  // namespace adocd
