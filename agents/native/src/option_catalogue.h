#pragma once
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "change.h"
#include "problem.h"

namespace adocd {

// The options that this RocksDB knows, and what a value of each must look like. Touches no database.
class OptionCatalogue {
 public:
  OptionCatalogue();

  std::vector<std::string> LiveNames(Scope scope) const;

  // Whether one option may be set to this value. RocksDB's own parser is asked, but it takes "12x" for 12, so the
  // value must also come back as it was sent.
  std::optional<Problem> Check(Scope scope, const std::string& name, const std::string& value);

 private:
  std::optional<Problem> CheckUncached(Scope scope, const std::string& name, const std::string& value) const;
  const OptionMap& Live(Scope scope) const {
    return scope == Scope::kColumnFamily ? live_column_family_ : live_database_;
  }

  OptionMap live_column_family_, live_database_;  // with default values
  OptionMap all_column_family_, all_database_;

  std::mutex mutex_;
  std::set<std::string> accepted_;  // restore plans repeat the same few values for every column family
};

}  // namespace adocd
