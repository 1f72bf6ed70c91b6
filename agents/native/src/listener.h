#pragma once
#include <memory>
#include <vector>

#include <rocksdb/listener.h>

#include "column_families.h"
#include "events.h"

namespace adocd {

// Makes a listener that writes to `events` and tells `column_families` when the host deletes a handle.
std::shared_ptr<rocksdb::EventListener> MakeListener(std::shared_ptr<SessionEvents> events,
                                                     std::shared_ptr<ColumnFamilies> column_families);

// Removes every listener that is ours. A host may open a second database with the options of the first
// (DB::GetOptions), and the first one's listener in them would record the second one's events.
void RemoveOurListeners(std::vector<std::shared_ptr<rocksdb::EventListener>>* listeners);

}  // namespace adocd
