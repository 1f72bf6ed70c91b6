#include "spec.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace adocd::load {
namespace {

using Json = nlohmann::json;

constexpr double kMost = 9e15;  // larger whole numbers are not exact in JSON

std::string Shown(double bound) {
  return std::floor(bound) == bound ? Json(static_cast<int64_t>(bound)).dump() : Json(bound).dump();
}

// A JSON object whose keys are read one by one. Its errors name the path of a value that is of the wrong type, out of
// range or unknown.
class Object {
 public:
  Object(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json.is_object()) throw SpecError(path_ + " must be an object");
  }

  const Json* Find(const char* key) {
    known_.insert(key);
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  const Json& Need(const char* key) {
    const Json* value = Find(key);
    if (value == nullptr) throw SpecError(At(key) + " is missing");
    return *value;
  }

  std::optional<double> Number(const char* key, double least, double most) {
    const Json* value = Find(key);
    if (value == nullptr) return std::nullopt;
    return Checked(*value, At(key), least, most);
  }

  std::optional<uint64_t> Whole(const char* key, uint64_t least, uint64_t most) {
    const auto number = Number(key, static_cast<double>(least), static_cast<double>(most));
    if (!number) return std::nullopt;
    if (std::floor(*number) != *number) throw SpecError(At(key) + " must be a whole number; it is " + json_[key].dump());
    return static_cast<uint64_t>(*number);
  }

  std::string Text(const char* key, const char* otherwise = nullptr) {
    const Json* value = otherwise == nullptr ? &Need(key) : Find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_string() || value->get<std::string>().empty()) throw SpecError(At(key) + " must be a text");
    return value->get<std::string>();
  }

  std::string OneOf(const char* key, const std::vector<std::string>& choices) {
    const std::string text = Text(key, choices.front().c_str());
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
    std::string all;
    for (const auto& choice : choices) all += (all.empty() ? "" : ", ") + choice;
    throw SpecError(At(key) + " is " + text + "; it must be one of " + all);
  }

  bool Flag(const char* key, bool otherwise) {
    const Json* value = Find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) throw SpecError(At(key) + " must be true or false");
    return value->get<bool>();
  }

  OptionMap Options(const char* key) {
    OptionMap options;
    const Json* value = Find(key);
    if (value == nullptr) return options;
    if (!value->is_object()) throw SpecError(At(key) + " must be an object");
    for (const auto& [name, option] : value->items()) {
      if (option.is_structured() || option.is_null()) throw SpecError(At(key) + "." + name + " must be a plain value");
      options[name] = option.is_string() ? option.get<std::string>() : option.dump();
    }
    return options;
  }

  // Rejects unknown keys; call it after reading all known ones.
  void Close() const {
    for (const auto& [key, value] : json_.items()) {
      if (known_.count(key) == 0) throw SpecError(At(key) + " is unknown");
    }
  }

  std::string At(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

  static double Checked(const Json& value, const std::string& path, double least, double most) {
    if (value.is_number()) {
      const double number = value.get<double>();
      if (number >= least && number <= most) return number;
    }
    throw SpecError(path + " must be a number from " + Shown(least) + " to " + Shown(most) + "; it is " + value.dump());
  }

 private:
  const Json& json_;
  std::string path_;
  std::set<std::string> known_;
};

Open ReadOpen(const Json& json, const std::string& path) {
  Object object(json, path);
  Open open;
  const Json& steps = object.Need("steps");
  if (!steps.is_array() || steps.empty()) throw SpecError(object.At("steps") + " must be a list with a step or more");
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string at = object.At("steps") + "[" + std::to_string(i) + "]";
    if (!steps[i].is_array() || steps[i].size() != 2) throw SpecError(at + " must be [seconds, operations_per_s]");
    open.steps.push_back({Object::Checked(steps[i][0], at + "[0]", 1e-6, 1e7),
                          Object::Checked(steps[i][1], at + "[1]", 0, 1e8)});
  }
  open.poisson = object.Flag("poisson", false);
  open.overrun_at_most_s = object.Number("overrun_at_most_s", 0, 1e7).value_or(60);
  object.Close();
  return open;
}

Closed ReadClosed(const Json& json, const std::string& path) {
  Object object(json, path);
  Closed closed;
  closed.seconds = object.Number("seconds", 1e-3, 1e7);
  closed.count = object.Whole("count", 1, static_cast<uint64_t>(kMost));
  object.Close();
  if (!closed.seconds && !closed.count) throw SpecError(path + " needs seconds or count");
  return closed;
}

Weights ReadWeights(const Json& json, const std::string& path) {
  Object object(json, path);
  Weights weights;
  for (size_t i = 0; i < kKinds; ++i) weights[i] = object.Number(kKindNames[i], 0, 1e9).value_or(0);
  object.Close();
  if (Sum(weights) <= 0) throw SpecError(path + " needs a weight above 0");
  return weights;
}

void ReadKeys(const Json& json, const std::string& path, Phase* phase) {
  Object object(json, path);
  // In the order of enum Distribution.
  const std::vector<std::string> names = {"uniform", "zipfian", "latest", "sequential"};
  const auto name = std::find(names.begin(), names.end(), object.OneOf("distribution", names));
  phase->distribution = static_cast<Distribution>(name - names.begin());
  phase->records = object.Whole("records", 0, static_cast<uint64_t>(kMost)).value_or(0);
  object.Close();
  if (phase->records == 0 && Sum(phase->weights) > phase->weights[kInsert]) {
    throw SpecError(path + ".records must be 1 or more: only inserts need no record that is there");
  }
}

void ReadOperations(Object* object, Phase* phase) {
  phase->threads = object->Whole("threads", 1, 1024).value_or(1);
  phase->weights = ReadWeights(object->Need("operations"), object->At("operations"));
  phase->scan_length = object->Whole("scan_length", 1, 1'000'000).value_or(100);
  ReadKeys(object->Need("keys"), object->At("keys"), phase);
}

Phase ReadPhase(const Json& json, const std::string& path) {
  Object object(json, path);
  Phase phase;
  phase.name = object.Text("name");
  phase.measured = object.Flag("measured", false);
  if (object.Find("waits_for") != nullptr) phase.waits_for = object.Text("waits_for");
  const Json* open = object.Find("open");
  const Json* closed = object.Find("closed");
  const Json* drain = object.Find("drain");
  if ((open != nullptr) + (closed != nullptr) + (drain != nullptr) != 1) {
    throw SpecError(path + " must have exactly one of open, closed and drain");
  }
  if (open != nullptr) phase.open = ReadOpen(*open, object.At("open"));
  if (closed != nullptr) phase.closed = ReadClosed(*closed, object.At("closed"));
  if (drain != nullptr) {
    Object inner(*drain, object.At("drain"));
    phase.drain = Drain{inner.Number("at_most_s", 0, 1e7).value_or(600),
                        inner.Find("until") == nullptr ? "" : inner.Text("until")};
    inner.Close();
    if (phase.measured) throw SpecError(path + " drains: it has no operations to be measured");
  } else {
    ReadOperations(&object, &phase);
  }
  object.Close();
  return phase;
}

std::vector<Phase> ReadPhases(const Json& json) {
  if (!json.is_array() || json.empty()) throw SpecError("phases must be a list with a phase or more");
  std::vector<Phase> phases;
  std::set<std::string> names;
  size_t measured = 0;
  for (const auto& phase : json) {
    const std::string path = "phases[" + std::to_string(phases.size()) + "]";
    phases.push_back(ReadPhase(phase, path));
    measured += phases.back().measured;
    if (!names.insert(phases.back().name).second) {
      throw SpecError(path + ".name is " + phases.back().name + ", as another's is");
    }
  }
  if (measured != 1) throw SpecError("exactly one phase must be measured; " + std::to_string(measured) + " are");
  return phases;
}

}  // namespace

double Open::Seconds() const {
  double seconds = 0;
  for (const Step& step : steps) seconds += step.seconds;
  return seconds;
}

Spec ReadSpec(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) throw SpecError("it cannot be read");
  const Json json = Json::parse(stream, nullptr, false);
  if (json.is_discarded()) throw SpecError("it is no JSON");
  Object object(json, "");
  Spec spec;
  spec.database = object.Text("database");
  spec.result = object.Text("result");
  spec.create = object.Flag("create", false);
  spec.options = object.Options("options");
  spec.rate_limiter_bytes_per_s = object.Whole("rate_limiter_bytes_per_s", 1, static_cast<uint64_t>(kMost));
  spec.auto_tuned = object.Flag("auto_tuned", false);
  if (spec.auto_tuned && !spec.rate_limiter_bytes_per_s) {
    throw SpecError("auto_tuned needs rate_limiter_bytes_per_s");
  }
  spec.statistics = object.OneOf("statistics", {"none", "tickers", "all"});
  spec.key_bytes = object.Whole("key_bytes", kLeastKeyBytes, 1024).value_or(16);
  spec.value_bytes = object.Whole("value_bytes", 0, 64 << 20).value_or(1000);
  spec.hashed = object.OneOf("key_order", {"hashed", "ordered"}) == "hashed";
  spec.disable_wal = object.Flag("disable_wal", false);
  spec.seed = object.Whole("seed", 0, static_cast<uint64_t>(kMost)).value_or(1);
  spec.phases = ReadPhases(object.Need("phases"));
  object.Close();
  return spec;
}

}  // namespace adocd::load
