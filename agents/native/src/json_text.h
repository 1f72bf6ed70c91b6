#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "change.h"

namespace adocd {

// Appends JSON to a string. Snapshots do not use the JSON library's tree, because hundreds are built per second.
// Invalid UTF-8 (paths, column family names) becomes U+FFFD.
void AppendJsonString(std::string* out, std::string_view text);
void AppendJsonNumber(std::string* out, double value);
std::string JsonString(std::string_view text);
std::string JsonObject(const OptionMap& options);

// Writes `"name":`, after a comma if one is needed.
class JsonObjectWriter {
 public:
  explicit JsonObjectWriter(std::string* out) : out_(out) { *out_ += '{'; }
  JsonObjectWriter(const JsonObjectWriter&) = delete;
  JsonObjectWriter& operator=(const JsonObjectWriter&) = delete;
  ~JsonObjectWriter() {
    try {
      *out_ += '}';
    } catch (...) {
      // Out of memory: whoever reads it finds it incomplete. The host must go on.
    }
  }

  std::string* Key(std::string_view name);
  void String(std::string_view name, std::string_view value) { AppendJsonString(Key(name), value); }
  void Number(std::string_view name, double value) { AppendJsonNumber(Key(name), value); }
  void Unsigned(std::string_view name, uint64_t value) { *Key(name) += std::to_string(value); }
  void Integer(std::string_view name, int64_t value) { *Key(name) += std::to_string(value); }
  void Bool(std::string_view name, bool value) { *Key(name) += value ? "true" : "false"; }
  void Null(std::string_view name) { *Key(name) += "null"; }
  void Strings(std::string_view name, const std::vector<std::string>& values);
  void Raw(std::string_view name, std::string_view json) { *Key(name) += json; }

 private:
  std::string* out_;
  bool first_ = true;
};

}  // namespace adocd
