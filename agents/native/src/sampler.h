#pragma once
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace adocd {

class Session;

// The sampling thread of the process. It samples only on demand: without clients it sleeps.
class Sampler {
 public:
  static constexpr double kMinIntervalSeconds = 0.05;

  void Start();
  // Requests a sample at most kMinIntervalSeconds old; `done` is called on the sampling thread.
  void Request(const std::shared_ptr<Session>& session, std::function<void()> done);

 private:
  using Callbacks = std::vector<std::function<void()>>;
  void Run();

  std::mutex mutex_;
  std::condition_variable work_;
  std::map<std::shared_ptr<Session>, Callbacks> wanted_;
};

}  // namespace adocd
