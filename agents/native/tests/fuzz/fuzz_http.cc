// Bytes on the agent's socket: HTTP parser, routing, bodies, answers, on the agent's own threads. One input is all that
// one client sends, which may be several requests.
#include "host.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto& host = adocd::fuzz::Host::Get();
  host.Converse(data, size);
  host.Settle();
  return 0;
}
