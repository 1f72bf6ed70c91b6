#include "limiter_watch.h"

#include <algorithm>
#include <string>
#include <utility>

#include <rocksdb/rate_limiter.h>
#include <rocksdb/version.h>

#include "events.h"
#include "rate_requests.h"
#include "standard_error.h"
#include "thread.h"

namespace adocd {
namespace {

constexpr bool kLosesWakeups = ROCKSDB_MAJOR * 10000 + ROCKSDB_MINOR * 100 + ROCKSDB_PATCH < 80503;
constexpr int64_t kLeastLooks = 3;
// Where our own byte waits, too: its rate may be next to nothing.
constexpr int64_t kLooksAgain = 10;
// A byte too many does no harm, a limiter that stays stuck does.
constexpr int64_t kMostLooks = 60;

}  // namespace

using rocksdb::RateLimiter;

bool LimiterWatch::IsNeeded(const RateLimiter& limiter) { return kLosesWakeups && rate_requests::IsGeneric(&limiter); }

bool LimiterWatch::IsOf(const std::shared_ptr<RateLimiter>& limiter) const {
  return !limiter_.owner_before(limiter) && !limiter.owner_before(limiter_);
}

void LimiterWatch::Tell(const std::shared_ptr<SessionEvents>& events) {
  const auto is_over = [](const std::weak_ptr<SessionEvents>& each) { return each.expired(); };
  events_.erase(std::remove_if(events_.begin(), events_.end(), is_over), events_.end());
  events_.push_back(events);
}

bool LimiterWatch::Look(double now_s, std::vector<Stuck>* stuck) {
  std::shared_ptr<RateLimiter> limiter = limiter_.lock();
  int64_t waiting = 0;
  if (!limiter || !limiter->GetTotalPendingRequests(&waiting).ok()) return false;
  const int64_t requests = limiter->GetTotalRequests(), granted_bytes = limiter->GetTotalBytesThrough();
  if (waiting == 0) most_request_bytes_ = 0;
  if (waiting == 0 || requests != requests_ || granted_bytes != granted_bytes_) {
    since_s_ = now_s;
    looks_ = patience_ = 0;
  } else {
    ++looks_;
  }
  requests_ = requests;
  granted_bytes_ = granted_bytes;
  // The longest since then: a request that waited for a low rate gets the rest when the rate is high again.
  patience_ = std::max(patience_, Patience(*limiter));
  if (looks_ >= std::min(*our_requests_ > 0 ? std::max(patience_, kLooksAgain) : patience_, kMostLooks)) {
    stuck->push_back({std::move(limiter), events_, our_requests_, waiting, now_s - since_s_});
    looks_ = 0;
  }
  return true;
}

int64_t LimiterWatch::Patience(const RateLimiter& limiter) {
  most_request_bytes_ = std::max(most_request_bytes_, limiter.GetSingleBurstBytes());
  const int64_t looks_of_one = most_request_bytes_ / std::max<int64_t>(limiter.GetBytesPerSecond(), 1);
  return kLeastLooks + 2 * std::min(looks_of_one, kMostLooks);
}

void LimiterWatch::Wake(const Stuck& stuck) {
  // A thread of its own, as the request may have to wait for its turn.
  StartThread("adocd-limiter", [limiter = stuck.limiter, ours = stuck.our_requests] {
    const bool writes = limiter->IsRateLimited(RateLimiter::OpType::kWrite);
    ++*ours;
    limiter->Request(1, rocksdb::Env::IO_HIGH, nullptr, writes ? RateLimiter::OpType::kWrite : RateLimiter::OpType::kRead);
    --*ours;
  }).detach();
  for (const auto& weak : stuck.events) {
    const auto events = weak.lock();
    if (!events || !events->active()) continue;
    Event event;
    event.kind = "limiter_woken";
    event.waiting = static_cast<uint64_t>(stuck.waiting);
    event.elapsed_s = stuck.for_s;
    events->Add(std::move(event));
  }
  SayOnStandardError("adocd agent: RocksDB's rate limiter granted nothing for " +
                     std::to_string(static_cast<int64_t>(stuck.for_s)) +
                     " s (waiting requests: " + std::to_string(stuck.waiting) +
                     "), so the agent woke it; RocksDB 8.5.3 has the fix (facebook/rocksdb#11742)\n");
}

}  // namespace adocd
