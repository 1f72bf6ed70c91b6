// Request bodies: parsed as a lease and as a change; what is well-formed is sent to an open database, whose lease the
// change's holder has (epoch 1), and restored.
#include "host.h"
#include "json_text.h"
#include "request_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace adocd;
  const std::string body(reinterpret_cast<const char*>(data), size);
  const std::string base = std::string("/v1/databases/") + fuzz::kDatabase;
  if (std::holds_alternative<LeaseRequest>(ParseLeaseRequest(body))) {
    auto& host = fuzz::Host::Get();
    host.Ask("PUT", base + "/lease", body);
    host.Ask("PUT", base + "/lease", body);  // renews, or names an epoch that is none
    host.Settle();
  }
  const auto parsed = ParseChangeRequest(body);
  if (const auto* change = std::get_if<ChangeRequest>(&parsed)) {
    auto& host = fuzz::Host::Get();
    host.Ask("PUT", base + "/lease", R"({"ttl_s":60,"holder":)" + JsonString(change->holder) + "}");
    host.Ask("PATCH", base + "/options", body);
    host.Ask("GET", base + "/snapshot?events_after=0");
    host.Ask("DELETE", base + (size % 2 ? "/lease?force=true" : "/lease?force=true&restore=false"));
    host.AwaitRestore();
    host.Settle();
  }
  return 0;
}
