#pragma once
#include <memory>
#include <vector>

#include <rocksdb/listener.h>

#include "column_families.h"
#include "events.h"

namespace adocd {

// A listener that writes into `events` and tells `column_families` when the host deletes a handle.
std::shared_ptr<rocksdb::EventListener> MakeListener(std::shared_ptr<SessionEvents> events,
                                                     std::shared_ptr<ColumnFamilies> column_families);

// Hosts open a second database with options taken from the first (DB::GetOptions): those carry the first one's
// listener, which would then record the second one's events. Removes every listener that is ours.
void RemoveOurListeners(std::vector<std::shared_ptr<rocksdb::EventListener>>* listeners);

}  // namespace adocd
