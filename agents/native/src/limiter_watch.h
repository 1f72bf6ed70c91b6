#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace rocksdb {
class RateLimiter;
}

namespace adocd {

class SessionEvents;

// Wakes a rate limiter that grants nothing any more. In RocksDB before 8.5.3, GenericRateLimiter::Request can leave all
// who wait for bytes asleep (facebook/rocksdb#11742): a thread that sleeps until the next refill, and whose bytes
// somebody else has granted meanwhile, ends without waking another in its place. Only a new request wakes them, and
// there may never be one: the flush that waits stops writes, and changes of options wait behind the writes. So the agent
// requests one byte, which does the refill that is overdue.
class LimiterWatch {
 public:
  static constexpr double kIntervalSeconds = 1;
  // Whether it can be needed: this RocksDB has the mistake, and this limiter is of the class that has it.
  static bool IsNeeded(const rocksdb::RateLimiter& limiter);

  explicit LimiterWatch(const std::shared_ptr<rocksdb::RateLimiter>& limiter) : limiter_(limiter) {}

  bool IsOf(const std::shared_ptr<rocksdb::RateLimiter>& limiter) const;
  // These events are told when the limiter is woken.
  void Tell(const std::shared_ptr<SessionEvents>& events);
  // A limiter to be woken.
  struct Stuck {
    std::shared_ptr<rocksdb::RateLimiter> limiter;
    std::vector<std::weak_ptr<SessionEvents>> events;
    std::shared_ptr<std::atomic<int>> our_requests;
    int64_t waiting;
    double for_s;
  };
  // Call it every kIntervalSeconds. Returns false if nobody has the limiter any more. It is watched until then, longer
  // than the databases are open for the agent: a close waits for flushes.
  bool Look(double now_s, std::vector<Stuck>* stuck);
  // Requests a byte, tells the sessions, and writes a line to stderr. May block there, so hold no lock.
  static void Wake(const Stuck& stuck);

 private:
  // Looks in a row without a grant before we request. The largest request takes two refills, or longer after the rate
  // came down. Looks instead of seconds: while the process stood still, no limiter could grant.
  int64_t Patience(const rocksdb::RateLimiter& limiter);

  std::weak_ptr<rocksdb::RateLimiter> limiter_;
  std::vector<std::weak_ptr<SessionEvents>> events_;
  int64_t requests_ = 0, granted_bytes_ = 0;
  int64_t most_request_bytes_ = 0;  // of those that may still wait
  // Since something was granted or requested, or nobody waited:
  double since_s_ = 0;
  int64_t looks_ = 0, patience_ = 0;
  const std::shared_ptr<std::atomic<int>> our_requests_ = std::make_shared<std::atomic<int>>(0);  // that wait
};

}  // namespace adocd
