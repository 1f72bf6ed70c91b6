#include "option_catalogue.h"

#include <algorithm>
#include <climits>
#include <cstdlib>

#include <rocksdb/convenience.h>

#include "option_text.h"

namespace adocd {
namespace {

// Longer than anything that RocksDB writes for one option.
constexpr size_t kMaxValueLength = 4096;

constexpr size_t kMaxAccepted = 10000;

constexpr long kNoLimit = LONG_MAX;
struct Range {
  long low, high;
};
const std::map<std::string, Range> kRanges{
    // RocksDB starts the threads for these at once, without a limit; the protocol limits a thread pool to 1024 as well.
    {"max_background_jobs", {1, 1024}},
    {"max_background_compactions", {-1, 1024}},  // -1: max_background_jobs applies
    {"max_background_flushes", {-1, 1024}},
    // With less, RocksDB stops or delays writes for good, and a SetOptions that would put it back waits behind them. At
    // open it corrects such values itself (SanitizeOptions in db/column_family.cc), so no restore leads back to one.
    {"level0_stop_writes_trigger", {1, kNoLimit}},
    {"level0_slowdown_writes_trigger", {1, kNoLimit}},
    {"max_write_buffer_number", {2, kNoLimit}},
    // It asserts that no level's target is 0 (VersionStorageInfo::CalculateBaseBytes).
    {"max_bytes_for_level_base", {1, kNoLimit}},
    // It asserts that no level's target is smaller than that of the level above (VersionStorageInfo::SetFinalized).
    {"max_bytes_for_level_multiplier", {1, kNoLimit}},
};

bool IsWholeNumber(const std::string& text) {
  const size_t begin = !text.empty() && text[0] == '-' ? 1 : 0;
  return text.size() > begin &&
         std::all_of(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Problem BadValue(const std::string& name, const std::string& detail) {
  return {422, "bad_value", name + ": " + detail, {}, name};
}

std::string Quoted(const std::string& value) {
  constexpr size_t kMaxShown = 100;
  return "'" + (value.size() > kMaxShown ? value.substr(0, kMaxShown) + "..." : value) + "'";
}

// Parses one option and returns it as RocksDB writes it.
rocksdb::Status RoundTrip(Scope scope, const std::string& name, const std::string& value, std::string* written) {
  rocksdb::ConfigOptions config;
  config.mutable_options_only = true;
  config.invoke_prepare_options = false;
  const std::unordered_map<std::string, std::string> values{{name, value}};
  OptionMap parsed;
  if (scope == Scope::kColumnFamily) {
    rocksdb::ColumnFamilyOptions options;
    const auto status = rocksdb::GetColumnFamilyOptionsFromMap(config, {}, values, &options);
    if (!status.ok()) return status;
    parsed = LiveOptions(options);
  } else {
    rocksdb::DBOptions options;
    const auto status = rocksdb::GetDBOptionsFromMap(config, {}, values, &options);
    if (!status.ok()) return status;
    parsed = LiveOptions(options);
  }
  *written = parsed[name];
  return rocksdb::Status::OK();
}

}  // namespace

OptionCatalogue::OptionCatalogue()
    : live_column_family_(LiveOptions(rocksdb::ColumnFamilyOptions())),
      live_database_(LiveOptions(rocksdb::DBOptions())),
      all_column_family_(AllOptions(rocksdb::ColumnFamilyOptions())),
      all_database_(AllOptions(rocksdb::DBOptions())) {}

std::vector<std::string> OptionCatalogue::LiveNames(Scope scope) const {
  std::vector<std::string> names;
  for (const auto& [name, value] : Live(scope)) names.push_back(name);
  return names;
}

std::optional<Problem> OptionCatalogue::Check(Scope scope, const std::string& name, const std::string& value) {
  const std::string key = (scope == Scope::kColumnFamily ? "c" : "d") + name + '=' + value;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (accepted_.count(key)) return std::nullopt;
  }
  auto problem = CheckUncached(scope, name, value);
  if (problem) return problem;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (accepted_.size() >= kMaxAccepted) accepted_.clear();
  accepted_.insert(key);
  return std::nullopt;
}

std::optional<Problem> OptionCatalogue::CheckUncached(Scope scope, const std::string& name,
                                                      const std::string& value) const {
  const bool of_family = scope == Scope::kColumnFamily;
  const auto known = Live(scope).find(name);
  if (known == Live(scope).end()) {
    const auto& all = of_family ? all_column_family_ : all_database_;
    const auto& other = of_family ? live_database_ : live_column_family_;
    if (all.count(name)) {
      return Problem{422, "not_live", name + ": RocksDB cannot change this option while the database is open.", {}, name};
    }
    std::string detail = Quoted(name) + " is not an option of this RocksDB; /v1/info lists those that can be changed.";
    if (other.count(name)) {
      detail = name + " is an option of " + (of_family ? "the database" : "column families") + ", not of " +
               (of_family ? "column families" : "the database") + "; send it with the other scope.";
    }
    return Problem{422, "no_such_option", detail, {}, name};
  }
  if (value.size() > kMaxValueLength) {
    return BadValue(name, "the value is longer than " + std::to_string(kMaxValueLength) + " bytes.");
  }
  if (IsWholeNumber(known->second) && !IsWholeNumber(value)) {
    return BadValue(name, Quoted(value) + " is not a whole number; send plain decimal digits without a unit.");
  }
  std::string written;
  rocksdb::Status status;
  try {
    status = RoundTrip(scope, name, value, &written);
  } catch (const std::exception& error) {
    return BadValue(name, Quoted(value) + " cannot be parsed: " + error.what() + ".");
  }
  if (!status.ok()) return BadValue(name, Quoted(value) + " is refused by RocksDB: " + status.ToString() + ".");
  if (written != value) {
    return BadValue(name, Quoted(value) + " would be read as " + Quoted(written) + "; send exactly what RocksDB writes.");
  }
  // They read back as they were sent, and no computation with them makes sense.
  if (value == "nan" || value == "-nan" || value == "inf" || value == "-inf") {
    return BadValue(name, Quoted(value) + " is not a finite number.");
  }
  // 0 means "the default" only at open; by SetOptions it means about 1 byte/s (db/write_controller.cc).
  if (name == "delayed_write_rate" && std::strtoull(value.c_str(), nullptr, 10) < 1) {
    return BadValue(name, "0 would freeze every delayed write; send the effective default instead, such as 16777216.");
  }
  if (const auto range = kRanges.find(name); range != kRanges.end()) {
    const auto [low, high] = range->second;
    const long number = std::strtol(value.c_str(), nullptr, 10);
    if (number < low || number > high) {
      const std::string most = high == kNoLimit ? " or more" : " to " + std::to_string(high);
      return BadValue(name, Quoted(value) + " is out of range; send " + std::to_string(low) + most + ".");
    }
  }
  return std::nullopt;
}

}  // namespace adocd
