#include "request_json.h"

#include <cmath>
#include <initializer_list>

#include <nlohmann/json.hpp>

namespace adocd {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxHolderLength = 200;
constexpr size_t kMaxChanges = 1000;
constexpr size_t kMaxRestoreSteps = 5000;

// Ends parsing at the first error; caught in this file.
struct Fault {
  std::string detail;
};

[[noreturn]] void Fail(const std::string& where, const std::string& what) {
  throw Fault{where + ": " + what + "."};
}

void RequireObject(const Json& json, const std::string& where, std::initializer_list<const char*> required,
                   std::initializer_list<const char*> optional = {}) {
  if (!json.is_object()) Fail(where, "an object is expected");
  for (const char* name : required) {
    if (!json.contains(name)) Fail(where, std::string("the member '") + name + "' is missing");
  }
  for (const auto& [name, value] : json.items()) {
    bool known = false;
    for (const char* allowed : required) known = known || name == allowed;
    for (const char* allowed : optional) known = known || name == allowed;
    if (!known) Fail(where, "the member '" + name + "' is not known");
  }
}

std::string String(const Json& json, const std::string& where) {
  if (!json.is_string()) Fail(where, "a string is expected");
  return json.get<std::string>();
}

int64_t Integer(const Json& json, const std::string& where, int64_t minimum = INT64_MIN, int64_t maximum = INT64_MAX) {
  int64_t value = 0;
  if (json.is_number_unsigned()) {
    if (json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) Fail(where, "the number is too large");
    value = json.get<int64_t>();
  } else if (json.is_number_integer()) {
    value = json.get<int64_t>();
  } else if (json.is_number_float() && std::abs(json.get<double>()) < 9e15 &&
             std::floor(json.get<double>()) == json.get<double>()) {
    value = static_cast<int64_t>(json.get<double>());  // 1.0 is an integer in JSON Schema
  } else {
    Fail(where, "a whole number is expected");
  }
  if (value < minimum || value > maximum) {
    Fail(where, std::to_string(value) + " is out of range (" + std::to_string(minimum) + " to " + std::to_string(maximum) + ")");
  }
  return value;
}

bool Boolean(const Json& json, const std::string& where) {
  if (!json.is_boolean()) Fail(where, "true or false is expected");
  return json.get<bool>();
}

OptionMap Options(const Json& json, const std::string& where) {
  if (!json.is_object() || json.empty()) Fail(where, "an object with at least one option is expected");
  OptionMap options;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_string()) Fail(where + "." + name, "option values are strings, as RocksDB writes them");
    options[name] = value.get<std::string>();
  }
  return options;
}

Change ParseChange(const Json& json, const std::string& where) {
  if (!json.is_object() || !json.contains("scope")) Fail(where, "an object with the member 'scope' is expected");
  const std::string scope = String(json["scope"], where + ".scope");
  Change change;
  if (scope == "column_family") {
    RequireObject(json, where, {"scope", "column_family", "options"});
    change.scope = Scope::kColumnFamily;
    change.column_family = String(json["column_family"], where + ".column_family");
    change.options = Options(json["options"], where + ".options");
  } else if (scope == "database") {
    RequireObject(json, where, {"scope", "options"});
    change.scope = Scope::kDatabase;
    change.options = Options(json["options"], where + ".options");
  } else if (scope == "rate_limiter") {
    RequireObject(json, where, {"scope", "bytes_per_s"});
    change.scope = Scope::kRateLimiter;
    change.bytes_per_s = Integer(json["bytes_per_s"], where + ".bytes_per_s", 1);
  } else if (scope == "thread_pool") {
    RequireObject(json, where, {"scope", "pool", "threads"});
    change.scope = Scope::kThreadPool;
    change.pool = String(json["pool"], where + ".pool");
    if (change.pool != "low" && change.pool != "high" && change.pool != "bottom") {
      Fail(where + ".pool", "one of low, high, bottom is expected");
    }
    change.threads = static_cast<int>(Integer(json["threads"], where + ".threads", 1, 1024));
  } else {
    Fail(where + ".scope", "one of column_family, database, rate_limiter, thread_pool is expected");
  }
  return change;
}

RestoreStep ParseStep(const Json& json, const std::string& where) {
  RequireObject(json, where, {"change"}, {"when"});
  RestoreStep step;
  step.change = ParseChange(json["change"], where + ".change");
  if (json.contains("when")) {
    const Json& when = json["when"];
    RequireObject(when, where + ".when", {"column_family", "property", "below"});
    step.when = Condition{String(when["column_family"], where + ".when.column_family"),
                          String(when["property"], where + ".when.property"),
                          Integer(when["below"], where + ".when.below", 1)};
  }
  return step;
}

std::string Holder(const Json& json) {
  const std::string holder = String(json, "holder");
  size_t characters = 0;
  for (const char c : holder) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  if (characters < 1 || characters > kMaxHolderLength) Fail("holder", "1 to 200 characters are expected");
  return holder;
}

// Limits of a request: the protocol has five levels, and about 20 values for each of 6,000 changes and steps.
constexpr int kMaxDepth = 16;
constexpr int kMaxValues = 200000;

// Whether the body is within these limits, so that parsing takes only a few times its size of the host's memory: 1 MiB
// of '[' would make a million values of 74 bytes each.
bool IsBounded(const std::string& body) {
  int depth = 0;
  int values = 0;
  bool in_string = false;
  for (size_t at = 0; at < body.size(); ++at) {
    const char c = body[at];
    if (in_string) {
      if (c == '\\') {
        ++at;
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (c == '"') in_string = true;
    if (c == ']' || c == '}') --depth;
    const bool opens = c == '[' || c == '{';
    if (opens && ++depth > kMaxDepth) return false;
    if ((opens || c == ',') && ++values > kMaxValues) return false;
  }
  return true;
}

template <typename Result, typename Parser>
std::variant<Result, Problem> ParseBody(const std::string& body, Parser parse) {
  if (!IsBounded(body)) return BadRequest(400, "The body nests deeper, or has more values, than any request does.");
  const Json json = Json::parse(body, nullptr, false);
  if (json.is_discarded()) return BadRequest(400, "The body is not JSON.");
  try {
    return parse(json);
  } catch (const Fault& fault) {
    return BadRequest(422, fault.detail);
  }
}

}  // namespace

std::variant<LeaseRequest, Problem> ParseLeaseRequest(const std::string& body) {
  return ParseBody<LeaseRequest>(body, [](const Json& json) {
    RequireObject(json, "body", {"holder", "ttl_s"}, {"epoch"});
    LeaseRequest request;
    request.holder = Holder(json["holder"]);
    if (!json["ttl_s"].is_number()) Fail("ttl_s", "a number is expected");
    request.ttl_s = json["ttl_s"].get<double>();
    if (!(request.ttl_s >= 0.5 && request.ttl_s <= 3600)) Fail("ttl_s", "0.5 to 3600 seconds are expected");
    if (json.contains("epoch")) request.epoch = Integer(json["epoch"], "epoch", 1);
    return request;
  });
}

std::variant<ChangeRequest, Problem> ParseChangeRequest(const std::string& body) {
  return ParseBody<ChangeRequest>(body, [](const Json& json) {
    RequireObject(json, "body", {"holder", "epoch", "changes", "restore_plan"}, {"repeat", "lift_rate_limit"});
    ChangeRequest request;
    request.holder = String(json["holder"], "holder");
    request.epoch = Integer(json["epoch"], "epoch");
    if (json.contains("repeat")) request.repeat = Boolean(json["repeat"], "repeat");
    if (json.contains("lift_rate_limit")) request.lift_rate_limit = Boolean(json["lift_rate_limit"], "lift_rate_limit");
    const Json& changes = json["changes"];
    if (!changes.is_array() || changes.empty() || changes.size() > kMaxChanges) {
      Fail("changes", "a list of 1 to 1000 changes is expected");
    }
    for (size_t i = 0; i < changes.size(); ++i) {
      request.changes.push_back(ParseChange(changes[i], "changes[" + std::to_string(i) + "]"));
    }
    const Json& plan = json["restore_plan"];
    if (!plan.is_array() || plan.size() > kMaxRestoreSteps) {
      Fail("restore_plan", "a list of at most 5000 steps is expected");
    }
    for (size_t i = 0; i < plan.size(); ++i) {
      request.restore_plan.push_back(ParseStep(plan[i], "restore_plan[" + std::to_string(i) + "]"));
    }
    return request;
  });
}

}  // namespace adocd
