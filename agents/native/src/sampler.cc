#include "sampler.h"

#include <algorithm>
#include <chrono>

#include "clock.h"
#include "collect.h"
#include "session.h"
#include "thread.h"

namespace adocd {

void Sampler::Start() { thread_ = StartThread("adocd-sample", [this] { Run(); }); }

void Sampler::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    work_.notify_one();
  }
  thread_.join();
}

void Sampler::Watch(const std::shared_ptr<Session>& session) {
  const std::lock_guard<std::mutex> lock(mutex_);
  watched_.push_back(session);
  changed_ = true;
  work_.notify_one();
}

void Sampler::Watch(const std::shared_ptr<rocksdb::RateLimiter>& limiter,
                    const std::shared_ptr<SessionEvents>& events) noexcept {
  try {
    if (!limiter || !LimiterWatch::IsNeeded(*limiter)) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    auto watch = std::find_if(limiters_.begin(), limiters_.end(), [&](const auto& each) { return each.IsOf(limiter); });
    if (watch == limiters_.end()) watch = limiters_.emplace(limiters_.end(), limiter);
    watch->Tell(events);
    changed_ = true;
    work_.notify_one();
  } catch (...) {
    // Out of memory: nobody wakes it, as without an agent.
  }
}

void Sampler::Request(const std::shared_ptr<Session>& session, std::function<void()> done) {
  const std::lock_guard<std::mutex> lock(mutex_);
  wanted_[session].push_back(std::move(done));
  work_.notify_one();
}

std::chrono::steady_clock::time_point Sampler::NextLookLocked() const {
  using Clock = std::chrono::steady_clock;
  auto next = Clock::time_point::max();
  if (!watched_.empty()) next = looked_ + kWatchInterval;
  if (!limiters_.empty()) {
    next = std::min(next, looked_at_limiters_ + std::chrono::duration_cast<Clock::duration>(kLimiterInterval));
  }
  return next;
}

std::map<std::shared_ptr<Session>, Sampler::Callbacks>::node_type Sampler::Next() {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto has_work = [this] { return stopped_ || changed_ || !wanted_.empty(); };
  if (watched_.empty() && limiters_.empty()) {
    work_.wait(lock, has_work);
  } else {
    work_.wait_until(lock, NextLookLocked(), has_work);
  }
  changed_ = false;
  if (wanted_.empty()) return {};
  return wanted_.extract(wanted_.begin());
}

void Sampler::LookAtWatched() {
  const auto now = std::chrono::steady_clock::now();
  if (now < looked_ + kWatchInterval) return;
  looked_ = now;
  std::vector<std::shared_ptr<Session>> open;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::weak_ptr<Session>> kept;
    for (const auto& weak : watched_) {
      const auto session = weak.lock();
      if (!session || session->closed()) continue;
      kept.push_back(weak);
      open.push_back(session);
    }
    watched_ = std::move(kept);
  }
  for (const auto& session : open) {
    const GateUse use(session->gate);
    if (use) LookAtStall(*session);
  }
}

void Sampler::LookAtLimiters() noexcept {
  const auto now = std::chrono::steady_clock::now();
  if (now < looked_at_limiters_ + kLimiterInterval) return;
  looked_at_limiters_ = now;
  std::vector<LimiterWatch::Stuck> stuck;
  try {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const double now_s = MonotonicSeconds();
      limiters_.remove_if([&](LimiterWatch& limiter) { return !limiter.Look(now_s, &stuck); });
    }
    for (const auto& each : stuck) LimiterWatch::Wake(each);
  } catch (...) {
    // No memory or no thread: it is woken after some more looks.
  }
}

void Sampler::Run() {
  for (;;) {
    auto next = Next();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (stopped_) return;
    }
    try {
      LookAtWatched();
    } catch (...) {
      // Out of memory: a stall that begins now is seen at the next look.
    }
    LookAtLimiters();
    if (next.empty()) continue;
    Session& session = *next.key();
    try {
      const auto last = session.sample();
      const double now_s = MonotonicSeconds();
      if (!last || !session.IsFresh(*last, now_s)) {
        const double early_s = last ? last->monotonic_s + kMinIntervalSeconds - now_s : 0;
        if (early_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(early_s));
        const GateUse use(session.gate);
        if (use) session.Publish(Collect(session));
      }
    } catch (...) {
      // Out of memory: the clients get the previous sample.
    }
    for (auto& done : next.mapped()) {
      try {
        done();
      } catch (...) {
        // Out of memory: this client gets the previous sample when its request times out.
      }
    }
  }
}

}  // namespace adocd
