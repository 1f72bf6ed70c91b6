#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "change.h"

namespace adocd {

// The option values this session began with, and which of them differ because of this session's leases.
class Originals {
 public:
  void Record(const OptionKey& key, const std::string& value) { values_[key] = value; }

  // After one of our changes: `value` is what was read back, nullopt when that was not possible (the option is
  // then taken for changed, because an error means "unknown").
  void Observe(const OptionKey& key, const std::optional<std::string>& value);

  // What was changed becomes the new original.
  void Adopt();

  // A column family is gone: nothing of it can be restored any more.
  void ForgetColumnFamily(const std::string& column_family);

  // The first option that `plan` would have to name, and does not.
  using ColumnFamilyIsOpen = std::function<bool(const std::string&)>;
  std::optional<OptionKey> FirstUncovered(const RestorePlan& plan, const std::vector<Change>& changes,
                                          const ColumnFamilyIsOpen& is_open) const;

  // The originals of what is changed and outlives the database: rate limiter and thread pools.
  std::vector<KeyValue> ChangedOutsideDatabase() const;

  const std::map<OptionKey, std::string>& values() const { return values_; }
  const std::map<OptionKey, std::optional<std::string>>& changed() const { return changed_; }

 private:
  std::map<OptionKey, std::string> values_;
  std::map<OptionKey, std::optional<std::string>> changed_;  // with the value seen last
};

}  // namespace adocd
