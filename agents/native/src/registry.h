#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "applier.h"
#include "session.h"

namespace adocd {

struct OpenDatabase {
  std::shared_ptr<Session> session;
  std::shared_ptr<Applier> applier;
};

// The databases that are open in this process.
class Registry {
 public:
  void Add(const void* db, OpenDatabase database);
  OpenDatabase Find(const void* db) const;  // empty members if it is unknown
  OpenDatabase FindId(const std::string& id) const;
  OpenDatabase Remove(const void* db);
  std::vector<OpenDatabase> All() const;

 private:
  mutable std::mutex mutex_;
  std::map<const void*, OpenDatabase> databases_;
};

}  // namespace adocd
