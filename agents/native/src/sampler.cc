#include "sampler.h"

#include <chrono>

#include "clock.h"
#include "collect.h"
#include "session.h"
#include "thread.h"

namespace adocd {

void Sampler::Start() {
  StartThread("adocd-sample", [this] { Run(); }).detach();
}

void Sampler::Request(const std::shared_ptr<Session>& session, std::function<void()> done) {
  const std::lock_guard<std::mutex> lock(mutex_);
  wanted_[session].push_back(std::move(done));
  work_.notify_one();
}

void Sampler::Run() {
  for (;;) {
    std::map<std::shared_ptr<Session>, Callbacks>::node_type next;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      work_.wait(lock, [this] { return !wanted_.empty(); });
      next = wanted_.extract(wanted_.begin());
    }
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
