#pragma once
#include <memory>

#include "sample.h"

namespace adocd {

class Session;

// Reads the database. Only inside the session's gate, or while it is being opened; by one thread at a time.
std::shared_ptr<const Sample> Collect(Session& session);

// An integer property of a column family, also those that RocksDB only has as text
// (rocksdb.num-files-at-level<n>). Returns whether there is one.
bool ReadIntProperty(Session& session, const std::string& column_family, const std::string& property,
                     uint64_t* value);

}  // namespace adocd
