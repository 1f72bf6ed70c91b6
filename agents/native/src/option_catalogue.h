#pragma once
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "change.h"
#include "problem.h"

namespace adocd {

// The options of this RocksDB, and which values each accepts. Touches no database.
class OptionCatalogue {
 public:
  OptionCatalogue();

  std::vector<std::string> LiveNames(Scope scope) const;

  // Whether an option accepts this value. It asks RocksDB's parser; because that reads "12x" as 12, RocksDB must also
  // write the value as it was sent.
  std::optional<Problem> Check(Scope scope, const std::string& name, const std::string& value);

 private:
  std::optional<Problem> CheckUncached(Scope scope, const std::string& name, const std::string& value) const;
  const OptionMap& Live(Scope scope) const {
    return scope == Scope::kColumnFamily ? live_column_family_ : live_database_;
  }

  OptionMap live_column_family_, live_database_;  // with default values
  OptionMap all_column_family_, all_database_;

  std::mutex mutex_;
  std::set<std::string> accepted_;  // a cache: restore plans repeat the same few values for every column family
};

}  // namespace adocd
