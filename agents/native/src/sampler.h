#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "limiter_watch.h"

namespace adocd {

class Session;

// The sampling thread of the process. It samples only on demand: without clients, and with nothing to watch, it sleeps.
class Sampler {
 public:
  // Events that clients wait for may follow each other quickly: no two samples are closer together.
  static constexpr double kMinIntervalSeconds = 0.01;
  static constexpr std::chrono::milliseconds kWatchInterval{100};
  static constexpr std::chrono::duration<double> kLimiterInterval{LimiterWatch::kIntervalSeconds};

  void Start();
  // Ends the thread; call it once, from another thread.
  void Stop();
  // Looks at this session's stall condition ten times a second until it ends: nothing else tells of its stalls.
  void Watch(const std::shared_ptr<Session>& session);
  // Looks at this limiter once a second for as long as anybody has it, where that is needed.
  void Watch(const std::shared_ptr<rocksdb::RateLimiter>& limiter, const std::shared_ptr<SessionEvents>& events) noexcept;
  // Requests a fresh sample (Session::IsFresh); `done` is called on the sampling thread.
  void Request(const std::shared_ptr<Session>& session, std::function<void()> done);

 private:
  using Callbacks = std::vector<std::function<void()>>;
  void Run();
  // The next session to sample; empty if it is time to look at what is watched, or to end.
  std::map<std::shared_ptr<Session>, Callbacks>::node_type Next();
  std::chrono::steady_clock::time_point NextLookLocked() const;
  void LookAtWatched();
  void LookAtLimiters() noexcept;

  std::mutex mutex_;
  std::condition_variable work_;
  std::map<std::shared_ptr<Session>, Callbacks> wanted_;
  std::vector<std::weak_ptr<Session>> watched_;
  std::list<LimiterWatch> limiters_;
  std::chrono::steady_clock::time_point looked_, looked_at_limiters_;  // on the sampling thread
  bool changed_ = false;  // something is to be watched that was not yet
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace adocd
