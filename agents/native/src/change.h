#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace adocd {

enum class Scope { kColumnFamily, kDatabase, kRateLimiter, kThreadPool };

using OptionMap = std::map<std::string, std::string>;

// One call into RocksDB.
struct Change {
  Scope scope = Scope::kDatabase;
  std::string column_family;  // kColumnFamily
  OptionMap options;          // kColumnFamily and kDatabase
  int64_t bytes_per_s = 0;    // kRateLimiter
  std::string pool;           // kThreadPool: low, high or bottom
  int threads = 0;            // kThreadPool
};

// Names one setting that can be changed. `owner` is the column family or the thread pool.
struct OptionKey {
  Scope scope = Scope::kDatabase;
  std::string owner;
  std::string name;

  bool operator<(const OptionKey& other) const {
    return std::tie(scope, owner, name) < std::tie(other.scope, other.owner, other.name);
  }
};

struct Condition {
  std::string column_family;
  std::string property;
  int64_t below = 0;
};

struct RestoreStep {
  std::optional<Condition> when;
  Change change;
  bool target_dropped = false;  // its column family was dropped; a new one of the same name is another
};

using RestorePlan = std::vector<RestoreStep>;
using KeyValue = std::pair<OptionKey, std::string>;

inline constexpr const char* kLimiterKey = "bytes_per_s";
inline constexpr const char* kThreadsKey = "threads";

// Returns every option that a change sets, with its value.
std::vector<KeyValue> KeyValues(const Change& change);

// "write_buffer_size of column family 'default'", for messages and events.
std::string Describe(const OptionKey& key);
std::string Describe(const Change& change);
std::string Describe(const Condition& condition);

}  // namespace adocd
