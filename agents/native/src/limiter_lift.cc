#include "limiter_lift.h"

#include <utility>

#include "clock.h"
#include "rate_requests.h"
#include "session.h"

namespace adocd {

LimiterLift::Call::Call(Session* session) : session_(session) {
  LimiterLift& lift = session_->limiter_lift;
  const std::lock_guard<std::mutex> lock(lift.mutex_);
  lift.call_since_s_ = MonotonicSeconds();
}

LimiterLift::Call::~Call() {
  LimiterLift& lift = session_->limiter_lift;
  std::optional<Lifted> lifted;
  {
    const std::lock_guard<std::mutex> lock(lift.mutex_);
    lift.call_since_s_.reset();
    lifted.swap(lift.lifted_);
  }
  if (!lifted || session_->closed()) return;
  rocksdb::RateLimiter* const limiter = session_->rate_limiter.get();
  // Not under the lock: it can take a tenth of a second.
  if (limiter->GetBytesPerSecond() == lifted->to) rate_requests::Turn(limiter, lifted->from);
}

std::optional<double> LimiterLift::Lift(Session& session, double now_s) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (lifted_ || !call_since_s_ || now_s - *call_since_s_ < kPatienceSeconds) return std::nullopt;
  for (const auto& [key, original, written] : session.control.ChangedOutsideDatabase()) {
    if (key.scope != Scope::kRateLimiter) continue;
    const Lifted found{std::stoll(written), std::stoll(original)};
    // Another limit is the host's own by now, or that of another database's lease.
    if (found.from >= found.to || session.rate_limiter->GetBytesPerSecond() != found.from) return std::nullopt;
    session.rate_limiter->SetBytesPerSecond(found.to);
    lifted_ = found;
    return now_s - *call_since_s_;
  }
  return std::nullopt;
}

void LimiterLift::Look(Session& session, double now_s) noexcept {
  try {
    const auto waited_s = Lift(session, now_s);
    if (!waited_s || !session.events->active()) return;
    Event event;
    event.kind = "rate_limit_lifted";
    event.elapsed_s = *waited_s;
    session.events->Add(std::move(event));
  } catch (...) {
    // Out of memory: it is lifted at the next look, or without an event.
  }
}

}  // namespace adocd
