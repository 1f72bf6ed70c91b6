#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace adocd {

// Lets many in, and lets one close the door and wait until everybody is out. Guards a pointer that belongs to the
// host: the host's close passes through CloseAndWait before the object dies.
class Gate {
 public:
  bool Enter() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return false;
    ++inside_;
    return true;
  }
  void Leave() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--inside_ == 0) empty_.notify_all();
  }
  void CloseAndWait() {
    std::unique_lock<std::mutex> lock(mutex_);
    closed_ = true;
    empty_.wait(lock, [this] { return inside_ == 0; });
  }
  // For process exit, where waiting for ever would be worse: close for good, then wait as long as there is time.
  void CloseForGood() {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = for_good_ = true;
  }
  void WaitUntil(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock<std::mutex> lock(mutex_);
    empty_.wait_until(lock, deadline, [this] { return inside_ == 0; });
  }
  void Reopen() {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = for_good_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable empty_;
  int inside_ = 0;
  bool closed_ = false;
  bool for_good_ = false;
};

// Inside a gate for the length of a scope, if it let us in.
class GateUse {
 public:
  explicit GateUse(Gate& gate) : gate_(gate.Enter() ? &gate : nullptr) {}
  ~GateUse() {
    if (gate_) gate_->Leave();
  }
  GateUse(const GateUse&) = delete;
  GateUse& operator=(const GateUse&) = delete;
  explicit operator bool() const { return gate_ != nullptr; }

 private:
  Gate* gate_;
};

}  // namespace adocd
