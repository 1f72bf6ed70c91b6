#include "json_text.h"

#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace adocd {

void AppendJsonString(std::string* out, std::string_view text) {
  bool plain = true;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\') {
      plain = false;
      break;
    }
  }
  if (plain) {
    *out += '"';
    out->append(text.data(), text.size());
    *out += '"';
    return;
  }
  *out += nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void AppendJsonNumber(std::string* out, double value) {
  if (!std::isfinite(value)) value = 0;
  char buffer[32];
  const int length = std::snprintf(buffer, sizeof buffer, "%.9f", value);
  // The host may have set a locale with a decimal comma.
  for (int i = 0; i < length; ++i) {
    if (buffer[i] == ',') buffer[i] = '.';
  }
  out->append(buffer, static_cast<size_t>(length));
}

std::string JsonString(std::string_view text) {
  std::string out;
  AppendJsonString(&out, text);
  return out;
}

std::string JsonObject(const OptionMap& options) {
  std::string out;
  {
    JsonObjectWriter writer(&out);
    for (const auto& [name, value] : options) writer.String(name, value);
  }
  return out;
}

std::string* JsonObjectWriter::Key(std::string_view name) {
  if (!first_) *out_ += ',';
  first_ = false;
  AppendJsonString(out_, name);
  *out_ += ':';
  return out_;
}

void JsonObjectWriter::Strings(std::string_view name, const std::vector<std::string>& values) {
  std::string* const out = Key(name);
  *out += '[';
  for (const auto& value : values) {
    if (out->back() != '[') *out += ',';
    AppendJsonString(out, value);
  }
  *out += ']';
}

}  // namespace adocd
