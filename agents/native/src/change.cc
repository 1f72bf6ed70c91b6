#include "change.h"

namespace adocd {

std::vector<KeyValue> KeyValues(const Change& change) {
  std::vector<KeyValue> result;
  switch (change.scope) {
    case Scope::kColumnFamily:
    case Scope::kDatabase:
      for (const auto& [name, value] : change.options) {
        result.push_back({OptionKey{change.scope, change.column_family, name}, value});
      }
      break;
    case Scope::kRateLimiter:
      result.push_back({OptionKey{change.scope, "", kLimiterKey}, std::to_string(change.bytes_per_s)});
      break;
    case Scope::kThreadPool:
      result.push_back({OptionKey{change.scope, change.pool, kThreadsKey}, std::to_string(change.threads)});
      break;
  }
  return result;
}

std::string Describe(const OptionKey& key) {
  switch (key.scope) {
    case Scope::kColumnFamily:
      return key.name + " of column family '" + key.owner + "'";
    case Scope::kDatabase:
      return key.name + " of the database";
    case Scope::kRateLimiter:
      return "bytes_per_s of the rate limiter";
    case Scope::kThreadPool:
      return "threads of pool '" + key.owner + "'";
  }
  return key.name;
}

std::string Describe(const Change& change) {
  std::string text;
  for (const auto& [key, value] : KeyValues(change)) {
    if (!text.empty()) text += ", ";
    text += key.name + "=" + value;
  }
  switch (change.scope) {
    case Scope::kColumnFamily:
      return "column family '" + change.column_family + "': " + text;
    case Scope::kDatabase:
      return "database: " + text;
    case Scope::kRateLimiter:
      return "rate limiter: " + text;
    case Scope::kThreadPool:
      return "thread pool " + change.pool + ": " + text;
  }
  return text;
}

std::string Describe(const Condition& condition) {
  return condition.property + " of column family '" + condition.column_family + "' below " +
         std::to_string(condition.below);
}

}  // namespace adocd
