#include "column_families.h"

#include <algorithm>

namespace adocd {

ColumnFamilyUse::~ColumnFamilyUse() {
  if (family_) owner_->Release(*family_);
}

void ColumnFamilies::Add(const std::string& name, uint32_t id, rocksdb::ColumnFamilyHandle* handle) {
  auto family = std::make_shared<ColumnFamily>();
  family->name = name;
  family->id = id;
  family->handle = handle;
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool known = std::any_of(families_.begin(), families_.end(),
                                 [&](const auto& other) { return other->handle == handle; });
  if (known) return;
  families_.push_back(std::move(family));
  closed_.erase(name);
}

void ColumnFamilies::Dropping(uint32_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& family : families_) {
    if (family->id == id && family->listed) family->dropping = true;
  }
}

void ColumnFamilies::NotDropped(uint32_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& family : families_) {
    if (family->id == id) family->dropping = false;
  }
  decided_.notify_all();
}

std::string ColumnFamilies::Dropped(uint32_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& family : families_) {
    if (family->id == id && family->listed) {
      // Keep it until its handle is deleted: the deletion may have to wait for a use in progress.
      family->listed = family->dropping = false;
      decided_.notify_all();
      return family->name;
    }
  }
  return {};
}

void ColumnFamilies::HandleDeleted(rocksdb::ColumnFamilyHandle* handle) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto found = std::find_if(families_.begin(), families_.end(),
                                  [&](const auto& family) { return family->handle == handle; });
  if (found == families_.end()) return;
  const std::shared_ptr<ColumnFamily> family = *found;
  families_.erase(found);
  const bool has_another = std::any_of(families_.begin(), families_.end(), [&](const auto& other) {
    return other->listed && other->name == family->name;
  });
  if (family->listed && !has_another) closed_.insert(family->name);
  family->listed = family->dropping = false;
  decided_.notify_all();
  released_.wait(lock, [&] { return family->uses == 0; });
  family->handle = nullptr;
}

void ColumnFamilies::OptionsChanged(uint32_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& family : families_) {
    if (family->id == id) ++family->options_version;
  }
}

void ColumnFamilies::Active(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& family : families_) {
    if (family->name == name) ++family->activity;
  }
}

ColumnFamilyUse ColumnFamilies::Use(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return UseLocked(name);
}

ColumnFamilyUse ColumnFamilies::UseToChange(const std::string& name) {
  std::unique_lock<std::mutex> lock(mutex_);
  decided_.wait(lock, [&] {
    return std::none_of(families_.begin(), families_.end(),
                        [&](const auto& family) { return family->dropping && family->name == name; });
  });
  return UseLocked(name);
}

ColumnFamilyUse ColumnFamilies::UseLocked(const std::string& name) {
  for (auto& family : families_) {
    if (family->listed && family->name == name) {
      ++family->uses;
      return ColumnFamilyUse(this, family);
    }
  }
  return {};
}

std::vector<ColumnFamilyUse> ColumnFamilies::UseAll() {
  std::vector<ColumnFamilyUse> uses;
  const std::lock_guard<std::mutex> lock(mutex_);
  uses.reserve(families_.size());
  for (auto& family : families_) {
    if (!family->listed) continue;
    uses.emplace_back(this, family);
    ++family->uses;
  }
  return uses;
}

std::vector<std::string> ColumnFamilies::Names() const {
  std::vector<std::string> names;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& family : families_) {
    if (family->listed) names.push_back(family->name);
  }
  return names;
}

std::vector<std::string> ColumnFamilies::Closed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {closed_.begin(), closed_.end()};
}

bool ColumnFamilies::Has(const std::string& name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(families_.begin(), families_.end(),
                     [&](const auto& family) { return family->listed && family->name == name; });
}

void ColumnFamilies::Release(ColumnFamily& family) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (--family.uses == 0 && !family.listed) released_.notify_all();
}

}  // namespace adocd
