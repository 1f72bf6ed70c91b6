// The options with which the database is opened.
#pragma once

#include <rocksdb/options.h>

#include "spec.h"

namespace adocd::load {

// RocksDB's defaults without compression, then the spec's options. Throws SpecError for an option that RocksDB does not
// know or whose value it refuses.
rocksdb::Options MakeOptions(const Spec& spec);

}  // namespace adocd::load
