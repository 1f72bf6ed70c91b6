#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace adocd {

class Session;

// The sampling thread of the process. It samples only on demand: without clients it sleeps.
class Sampler {
 public:
  // Events that clients wait for may follow each other quickly: no two samples are closer together.
  static constexpr double kMinIntervalSeconds = 0.01;
  static constexpr std::chrono::milliseconds kWatchInterval{100};

  void Start();
  // Ends the thread; call it once, from another thread.
  void Stop();
  // Looks at this session's stall condition ten times a second until it ends: nothing else tells of its stalls.
  void Watch(const std::shared_ptr<Session>& session);
  // Requests a fresh sample (Session::IsFresh); `done` is called on the sampling thread.
  void Request(const std::shared_ptr<Session>& session, std::function<void()> done);

 private:
  using Callbacks = std::vector<std::function<void()>>;
  void Run();
  // The next session to sample; empty if it is time to look at the watched ones, or to end.
  std::map<std::shared_ptr<Session>, Callbacks>::node_type Next();
  void LookAtWatched();

  std::mutex mutex_;
  std::condition_variable work_;
  std::map<std::shared_ptr<Session>, Callbacks> wanted_;
  std::vector<std::weak_ptr<Session>> watched_;
  std::chrono::steady_clock::time_point looked_;  // on the sampling thread
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace adocd
