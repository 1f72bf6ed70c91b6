#include "limiter_watch.h"

#include <algorithm>
#include <string>
#include <utility>

#include <rocksdb/rate_limiter.h>

#include "events.h"
#include "standard_error.h"
#include "thread.h"

namespace adocd {

using rocksdb::RateLimiter;

bool LimiterWatch::Look(double now_s) {
  const std::shared_ptr<RateLimiter> limiter = limiter_.lock();
  int64_t waiting = 0;
  if (!limiter || !limiter->GetTotalPendingRequests(&waiting).ok()) return false;
  const int64_t requests = limiter->GetTotalRequests(), granted_bytes = limiter->GetTotalBytesThrough();
  if (waiting == 0) most_request_bytes_ = 0;
  const int64_t patience = Patience(*limiter);
  const bool moves = requests != requests_ || granted_bytes != granted_bytes_;
  requests_ = requests;
  granted_bytes_ = granted_bytes;
  if (waiting == 0 || moves) {
    looks_ = 0;
    since_s_ = now_s;
  } else if (++looks_ >= patience) {
    looks_ = 0;
    Wake(limiter, waiting, now_s - since_s_);
  }
  return true;
}

int64_t LimiterWatch::Patience(const RateLimiter& limiter) {
  constexpr int64_t kLeastLooks = 3;
  most_request_bytes_ = std::max(most_request_bytes_, limiter.GetSingleBurstBytes());
  const int64_t looks_of_one = most_request_bytes_ / std::max<int64_t>(limiter.GetBytesPerSecond(), 1);
  return kLeastLooks + 2 * looks_of_one;
}

void LimiterWatch::Wake(const std::shared_ptr<RateLimiter>& limiter, int64_t waiting, double stuck_s) {
  // A thread of its own, as the request may have to wait for its turn.
  StartThread("adocd-limiter", [limiter] {
    const bool writes = limiter->IsRateLimited(RateLimiter::OpType::kWrite);
    limiter->Request(1, rocksdb::Env::IO_HIGH, nullptr, writes ? RateLimiter::OpType::kWrite : RateLimiter::OpType::kRead);
  }).detach();
  Event event;
  event.kind = "limiter_woken";
  event.waiting = static_cast<uint64_t>(waiting);
  event.elapsed_s = stuck_s;
  events_->Add(std::move(event));
  SayOnStandardError("adocd agent: for " + std::to_string(static_cast<int64_t>(stuck_s)) +
                     " s RocksDB's rate limiter granted none of the " + std::to_string(waiting) +
                     " requests that wait, so the agent woke it; RocksDB 8.5.3 has the fix (facebook/rocksdb#11742)\n");
}

}  // namespace adocd
