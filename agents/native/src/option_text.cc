#include "option_text.h"

#include <rocksdb/convenience.h>

namespace adocd {
namespace {

// They cannot be changed while the database is open.
constexpr const char* kDeciding[] = {"compaction_style", "level_compaction_dynamic_level_bytes",
                                     "min_write_buffer_number_to_merge", "num_levels"};

rocksdb::ConfigOptions Format(bool live_only) {
  rocksdb::ConfigOptions format;
  format.mutable_options_only = live_only;
  format.delimiter = "\n";  // one option per line; nested options stay in {} on their line, as in an OPTIONS file
  return format;
}

OptionMap Parse(const std::string& text) {
  OptionMap options;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    const size_t equals = text.find('=', begin);
    if (equals != std::string::npos && equals < end) {
      options[text.substr(begin, equals - begin)] = text.substr(equals + 1, end - equals - 1);
    }
    begin = end + 1;
  }
  return options;
}

OptionMap Serialise(const rocksdb::ColumnFamilyOptions& options, bool live_only) {
  std::string text;
  if (!rocksdb::GetStringFromColumnFamilyOptions(Format(live_only), options, &text).ok()) return {};
  return Parse(text);
}

OptionMap Serialise(const rocksdb::DBOptions& options, bool live_only) {
  std::string text;
  if (!rocksdb::GetStringFromDBOptions(Format(live_only), options, &text).ok()) return {};
  return Parse(text);
}

}  // namespace

OptionMap LiveOptions(const rocksdb::ColumnFamilyOptions& options) { return Serialise(options, true); }
OptionMap LiveOptions(const rocksdb::DBOptions& options) { return Serialise(options, true); }
OptionMap ShownOptions(const rocksdb::ColumnFamilyOptions& options) {
  OptionMap shown = LiveOptions(options);
  const OptionMap all = AllOptions(options);
  for (const char* name : kDeciding) {
    if (const auto found = all.find(name); found != all.end()) shown.insert(*found);
  }
  return shown;
}
OptionMap AllOptions(const rocksdb::ColumnFamilyOptions& options) { return Serialise(options, false); }
OptionMap AllOptions(const rocksdb::DBOptions& options) { return Serialise(options, false); }

}  // namespace adocd
