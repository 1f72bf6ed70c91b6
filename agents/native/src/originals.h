#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "change.h"

namespace adocd {

struct ChangedSetting {
  OptionKey key;
  std::string original;
  std::string written;  // the last value that was ours
};

// The option values that this session began with, or that its owner set later, and which of them its leases changed.
class Originals {
 public:
  // Keeps a known original: what is listed again, as after a refused close, may have our value.
  void Record(const OptionKey& key, const std::string& value) { values_.emplace(key, value); }

  // Takes `value`, which was found and may be the owner's, for the original, unless one of our changes is in force.
  void SetByOwner(const OptionKey& key, const std::string& value);

  // Call it after one of our changes. `value` is what was read back; nullopt if that failed, and then the option counts
  // as changed, because an error means "unknown".
  void Observe(const OptionKey& key, const std::optional<std::string>& value);

  // Makes the changed values the new originals.
  void Adopt();

  // Forgets a column family that is gone: none of its options can be restored.
  void ForgetColumnFamily(const std::string& column_family);

  // Returns the first option that `plan` must restore but does not contain.
  using ColumnFamilyIsOpen = std::function<bool(const std::string&)>;
  std::optional<OptionKey> FirstUncovered(const RestorePlan& plan, const std::vector<Change>& changes,
                                          const ColumnFamilyIsOpen& is_open) const;

  // The changed settings that outlive the database: rate limiter and thread pools.
  std::vector<ChangedSetting> ChangedOutsideDatabase() const;

  const std::map<OptionKey, std::string>& values() const { return values_; }
  const std::map<OptionKey, std::optional<std::string>>& changed() const { return changed_; }

 private:
  std::map<OptionKey, std::string> values_;
  std::map<OptionKey, std::optional<std::string>> changed_;  // with the last value read
};

}  // namespace adocd
