#pragma once
#include <memory>

#include "sample.h"

namespace adocd {

class Session;

// Reads the database. Call it only inside the session's gate or during the open, from one thread at a time.
std::shared_ptr<const Sample> Collect(Session& session);

// Reads an integer property of a column family, also one that RocksDB returns only as text
// (rocksdb.num-files-at-level<n>). Returns whether it exists.
// Tells the session's events which stall condition RocksDB's properties show now; call it inside the gate.
void LookAtStall(Session& session);

bool ReadIntProperty(Session& session, const std::string& column_family, const std::string& property,
                     uint64_t* value);

}  // namespace adocd
