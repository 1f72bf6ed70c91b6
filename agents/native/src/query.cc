#include "query.h"

namespace adocd {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool Decode(const std::string& text, bool plus_is_space, std::string* out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return false;
      const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return false;
      *out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      *out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return true;
}

}  // namespace

bool SplitTarget(const std::string& target, std::string* path, std::map<std::string, std::string>* query) {
  std::string rest = target;
  // An absolute target (as to a proxy) is legal HTTP/1.1.
  if (rest.compare(0, 7, "http://") == 0) {
    const size_t slash = rest.find('/', 7);
    rest = slash == std::string::npos ? "/" : rest.substr(slash);
  }
  if (rest.empty() || rest[0] != '/') return false;
  if (const size_t fragment = rest.find('#'); fragment != std::string::npos) rest.resize(fragment);
  const size_t mark = rest.find('?');
  if (!Decode(rest.substr(0, mark), false, path)) return false;
  if (mark == std::string::npos) return true;
  size_t begin = mark + 1;
  while (begin <= rest.size()) {
    size_t end = rest.find('&', begin);
    if (end == std::string::npos) end = rest.size();
    const std::string pair = rest.substr(begin, end - begin);
    const size_t equals = pair.find('=');
    std::string name, value;
    if (!Decode(pair.substr(0, equals), true, &name)) return false;
    if (equals != std::string::npos && !Decode(pair.substr(equals + 1), true, &value)) return false;
    if (!name.empty()) (*query)[name] = value;
    begin = end + 1;
  }
  return true;
}

std::optional<uint64_t> ParseUnsigned(const std::string& text) {
  if (text.empty()) return std::nullopt;
  uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    const auto digit = static_cast<uint64_t>(c - '0');
    if (value > (UINT64_MAX - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

std::optional<bool> ParseBool(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

}  // namespace adocd
