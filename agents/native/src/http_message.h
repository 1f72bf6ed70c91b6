#pragma once
#include <functional>
#include <string>

#include "problem.h"

namespace adocd {

// A request and its answer without a socket, so that request handling can be tested and fuzzed alone.
struct HttpRequest {
  std::string method;
  std::string target;  // path and query as they came
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string allow;  // with 405
};

// May be called on any thread, exactly once.
using Reply = std::function<void(HttpResponse)>;

HttpResponse ProblemResponse(const Problem& problem);
const char* StatusTitle(int status);

// What request handling needs from the http thread.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  // Runs `action` on the http thread.
  virtual void Post(std::function<void()> action) = 0;
  // Runs `action` on the http thread after a delay.
  virtual void After(double delay_s, std::function<void()> action) = 0;
  // Like After, but a later call with the same key replaces the earlier one. Call it only on the http thread.
  virtual void SetTimer(const std::string& key, double delay_s, std::function<void()> action) = 0;
};

}  // namespace adocd
