#include "lease.h"

namespace adocd {

Problem LeaseBook::Lost(int64_t epoch) const {
  Problem problem{409, "lease_lost",
                  "The lease of epoch " + std::to_string(epoch) + " is gone; acquire a new one by PUT without epoch.",
                  {}, {}};
  if (lease_) problem.holder = lease_->holder;
  return problem;
}

Problem LeaseBook::HeldByAnother() const {
  return Problem{409, "lease_held",
                 "The lease is held by '" + lease_->holder + "'; wait until it ends, or revoke it by DELETE with force=true.",
                 lease_->holder, {}};
}

std::variant<LeaseBook::Held, Problem> LeaseBook::Hold(const std::string& holder, std::optional<int64_t> epoch,
                                                       double ttl_s, double now_s) {
  // An epoch that is not the current one always means "lost", so that a former holder learns what happened even if
  // somebody else holds the lease now.
  if (epoch && (!lease_ || lease_->epoch != *epoch)) return Lost(*epoch);
  if (lease_ && lease_->holder != holder) return HeldByAnother();
  const bool acquired = !lease_;
  if (acquired) lease_ = Lease{holder, ++last_epoch_, 0, 0};
  lease_->ttl_s = ttl_s;
  lease_->expires_at_s = now_s + ttl_s;
  return Held{*lease_, acquired};
}

std::optional<Problem> LeaseBook::Check(const std::string& holder, int64_t epoch) const {
  if (lease_ && lease_->holder == holder && lease_->epoch == epoch) return std::nullopt;
  if (lease_) {
    if (lease_->holder == holder || epoch < lease_->epoch) return Lost(epoch);
    return HeldByAnother();
  }
  if (epoch >= 1 && epoch <= last_epoch_) return Lost(epoch);
  return Problem{409, "lease_required", "Nobody holds the lease of this database; acquire it by PUT .../lease first.",
                 {}, {}};
}

std::variant<LeaseBook::Ended, Problem> LeaseBook::Release(const std::optional<std::string>& holder,
                                                           std::optional<int64_t> epoch, bool force) {
  if (!lease_) return Ended::kNobodyHeld;
  if (force) {
    lease_.reset();
    return Ended::kRevoked;
  }
  if (epoch && *epoch != lease_->epoch) return Lost(*epoch);
  if (!holder || *holder != lease_->holder) return HeldByAnother();
  lease_.reset();
  return Ended::kReleased;
}

std::optional<Lease> LeaseBook::ExpireIfDue(double now_s) {
  if (!lease_ || now_s < lease_->expires_at_s) return std::nullopt;
  std::optional<Lease> ended = std::move(lease_);
  lease_.reset();
  return ended;
}

}  // namespace adocd
