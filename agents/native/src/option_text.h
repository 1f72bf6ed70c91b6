#pragma once
#include <string>

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "change.h"

namespace adocd {

// The options that SetOptions can change, as RocksDB writes them in an OPTIONS file.
OptionMap LiveOptions(const rocksdb::ColumnFamilyOptions& options);
OptionMap LiveOptions(const rocksdb::DBOptions& options);

// The options of a column family that a snapshot shows: the live ones, and those that decide what the live ones do.
OptionMap ShownOptions(const rocksdb::ColumnFamilyOptions& options);

// The names of all options, changeable or not.
OptionMap AllOptions(const rocksdb::ColumnFamilyOptions& options);
OptionMap AllOptions(const rocksdb::DBOptions& options);

}  // namespace adocd
