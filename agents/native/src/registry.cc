#include "registry.h"

namespace adocd {

void Registry::Add(const void* db, OpenDatabase database) {
  const std::lock_guard<std::mutex> lock(mutex_);
  databases_[db] = std::move(database);
}

OpenDatabase Registry::Find(const void* db) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = databases_.find(db);
  return found == databases_.end() ? OpenDatabase{} : found->second;
}

OpenDatabase Registry::FindId(const std::string& id) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [db, database] : databases_) {
    if (database.session->id == id) return database;
  }
  return {};
}

OpenDatabase Registry::Remove(const void* db) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto node = databases_.extract(db);
  return node.empty() ? OpenDatabase{} : std::move(node.mapped());
}

std::vector<OpenDatabase> Registry::All() const {
  std::vector<OpenDatabase> all;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [db, database] : databases_) all.push_back(database);
  return all;
}

}  // namespace adocd
