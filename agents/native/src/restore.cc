#include "restore.h"

namespace adocd {

void Restore::Arm(RestorePlan plan) {
  plan_ = std::move(plan);
  next_ = 0;
  ++plan_number_;
  executing_ = false;
  waiting_for_.reset();
}

void Restore::Drop() {
  Arm({});
  done_once_ = false;
  errors_.clear();
}

void Restore::ForgetColumnFamily(const std::string& column_family) {
  for (auto& step : plan_) {
    if (step.when && step.when->column_family == column_family) step.when.reset();
    if (step.change.scope == Scope::kColumnFamily && step.change.column_family == column_family) {
      step.target_dropped = true;
    }
  }
}

bool Restore::Begin() {
  if (executing_ || next_ >= plan_.size()) return false;
  executing_ = true;
  errors_.clear();
  return true;
}

std::optional<int64_t> Restore::RateLimit() const {
  for (size_t i = next_; executing_ && i < plan_.size(); ++i) {
    if (plan_[i].change.scope == Scope::kRateLimiter && !plan_[i].when) return plan_[i].change.bytes_per_s;
  }
  return std::nullopt;
}

void Restore::Interrupt() {
  executing_ = false;
  waiting_for_.reset();
}

bool Restore::StepDone(const std::optional<std::string>& error) {
  waiting_for_.reset();
  if (error) errors_.push_back(*error);
  if (next_ < plan_.size()) ++next_;
  if (next_ < plan_.size()) return false;
  const bool finished = executing_;
  executing_ = false;
  done_once_ = true;
  plan_.clear();
  next_ = 0;
  ++plan_number_;
  return finished;
}

RestoreStatus Restore::Status() const {
  RestoreStatus status;
  status.steps_left = plan_.size() - next_;
  status.errors = errors_;
  if (executing_) {
    status.state = waiting_for_ ? "waiting" : "running";
    status.waiting_for = waiting_for_;
  } else if (status.steps_left > 0) {
    status.state = "armed";
  } else if (done_once_) {
    status.state = "done";
  }
  return status;
}

}  // namespace adocd
