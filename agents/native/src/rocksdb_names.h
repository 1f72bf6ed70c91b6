#pragma once
#include <rocksdb/listener.h>

namespace adocd {

// Names of RocksDB's enumerators, as in its LOG. Static strings.
const char* FlushReasonName(rocksdb::FlushReason reason);
const char* CompactionReasonName(rocksdb::CompactionReason reason);
const char* BackgroundErrorReasonName(rocksdb::BackgroundErrorReason reason);

}  // namespace adocd
