// How the database is opened.
#pragma once

#include <rocksdb/options.h>

#include "spec.h"

namespace adocd::load {

// RocksDB's defaults, without compression, and what the spec names. Throws SpecError for an option that RocksDB does
// not know or whose value it refuses.
rocksdb::Options MakeOptions(const Spec& spec);

}  // namespace adocd::load
