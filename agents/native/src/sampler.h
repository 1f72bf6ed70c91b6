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
  // Events that clients wait for may follow each other quickly: no two samples are closer together.
  static constexpr double kMinIntervalSeconds = 0.01;

  void Start();
  // Requests a fresh sample (Session::IsFresh); `done` is called on the sampling thread.
  void Request(const std::shared_ptr<Session>& session, std::function<void()> done);

 private:
  using Callbacks = std::vector<std::function<void()>>;
  void Run();

  std::mutex mutex_;
  std::condition_variable work_;
  std::map<std::shared_ptr<Session>, Callbacks> wanted_;
};

}  // namespace adocd
