#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace adocd {

// Counts the threads that use an object of the host. The host's close calls CloseAndWait, which lets no other thread
// enter and waits until all have left, before the object is destroyed.
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
  // For process exit, which must not wait for ever: close the gate for good, then WaitUntil a deadline.
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

// Enters a gate for a scope; false if the gate is closed.
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
