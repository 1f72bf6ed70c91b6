#include "originals.h"

#include <set>

namespace adocd {

void Originals::Observe(const OptionKey& key, const std::optional<std::string>& value) {
  const auto original = values_.find(key);
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

std::optional<OptionKey> Originals::FirstUncovered(const RestorePlan& plan,
                                                   const std::vector<Change>& changes) const {
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
    if (!covered.count(key)) return key;
  }
  return std::nullopt;
}

}  // namespace adocd
