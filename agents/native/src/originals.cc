#include "originals.h"

#include <set>

namespace adocd {

void Originals::SetByOwner(const OptionKey& key, const std::string& value) {
  if (const auto changed = changed_.find(key); changed != changed_.end()) {
    // A limiter and a pool keep what we give them, so another value is the owner's. RocksDB may take an option back.
    const bool keeps = key.scope == Scope::kRateLimiter || key.scope == Scope::kThreadPool;
    if (!keeps || !changed->second || *changed->second == value) return;
    changed_.erase(changed);
  }
  if (const auto original = values_.find(key); original != values_.end()) original->second = value;
}

void Originals::Observe(const OptionKey& key, const std::optional<std::string>& value) {
  const auto original = values_.find(key);
  // It was dropped during our call: there is nothing left to undo.
  if (key.scope == Scope::kColumnFamily && original == values_.end()) return;
  if (value && original != values_.end() && original->second == *value) {
    changed_.erase(key);
  } else {
    changed_[key] = value;
  }
}

void Originals::Adopt() {
  for (const auto& [key, value] : changed_) {
    if (value) values_[key] = *value;
  }
  changed_.clear();
}

std::vector<ChangedSetting> Originals::ChangedOutsideDatabase() const {
  std::vector<ChangedSetting> result;
  for (const auto& [key, value] : changed_) {
    if (key.scope != Scope::kRateLimiter && key.scope != Scope::kThreadPool) continue;
    const auto original = values_.find(key);
    if (value && original != values_.end()) result.push_back({key, original->second, *value});
  }
  return result;
}

void Originals::ForgetColumnFamily(const std::string& column_family) {
  const auto forget = [&](auto& map) {
    for (auto it = map.begin(); it != map.end();) {
      const bool gone = it->first.scope == Scope::kColumnFamily && it->first.owner == column_family;
      it = gone ? map.erase(it) : std::next(it);
    }
  };
  forget(values_);
  forget(changed_);
}

std::optional<OptionKey> Originals::FirstUncovered(const RestorePlan& plan, const std::vector<Change>& changes,
                                                   const ColumnFamilyIsOpen& is_open) const {
  std::set<OptionKey> covered;
  for (const auto& step : plan) {
    for (auto& [key, value] : KeyValues(step.change)) covered.insert(key);
  }
  for (const auto& change : changes) {
    for (auto& [key, value] : KeyValues(change)) {
      if (!covered.count(key)) return key;
    }
  }
  for (const auto& [key, value] : changed_) {
    // If the host has deleted the handle without dropping the column family, no plan can name it.
    if (key.scope == Scope::kColumnFamily && !is_open(key.owner)) continue;
    if (!covered.count(key)) return key;
  }
  return std::nullopt;
}

}  // namespace adocd
