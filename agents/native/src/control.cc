#include "control.h"

namespace adocd {
namespace {

std::string Outcome(const Change& change, const StepResult& result) {
  return Describe(change) + (result.error ? " (error: " + *result.error + ")" : "");
}

}  // namespace

template <typename Detail>
void Control::EmitLocked(const char* kind, Detail detail) noexcept {
  try {
    Event event;
    event.kind = kind;
    event.detail = detail();
    events_->Add(std::move(event));
  } catch (...) {
    // Out of memory: the lease and the restore matter more than their events.
  }
}

void Control::RecordOriginal(const OptionKey& key, const std::string& value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  originals_.Record(key, value);
}

void Control::SetByHost(const OptionKey& key, const std::string& value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (lease_.last_epoch() == 0) originals_.SetByOwner(key, value);
}

void Control::ForgetColumnFamily(const std::string& column_family) {
  const std::lock_guard<std::mutex> lock(mutex_);
  originals_.ForgetColumnFamily(column_family);
  restore_.ForgetColumnFamily(column_family);
}

std::vector<ChangedSetting> Control::ChangedOutsideDatabase() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return originals_.ChangedOutsideDatabase();
}

OptionMap Control::OriginalsOf(Scope scope, const std::string& owner) const {
  OptionMap options;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto& values = originals_.values();
  for (auto it = values.lower_bound(OptionKey{scope, owner, ""});
       it != values.end() && it->first.scope == scope && it->first.owner == owner; ++it) {
    options[it->first.name] = it->second;
  }
  return options;
}

bool Control::ChangeInFlight() const noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  return changes_in_flight_ > 0;
}

std::variant<Lease, Problem> Control::Hold(const std::string& holder, std::optional<int64_t> epoch, double ttl_s,
                                           double now_s) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto result = lease_.Hold(holder, epoch, ttl_s, now_s);
  if (auto* problem = std::get_if<Problem>(&result)) return *problem;
  const auto& held = std::get<LeaseBook::Held>(result);
  if (held.acquired) {
    if (restore_.executing()) {
      EmitLocked("restore_end", [] { return "stopped by a new lease, which takes over the steps that are left"; });
    }
    restore_.Interrupt();
    EmitLocked("lease_acquired", [&] { return "by '" + holder + "', epoch " + std::to_string(held.lease.epoch); });
  }
  return held.lease;
}

std::optional<Problem> Control::Release(const std::optional<std::string>& holder, std::optional<int64_t> epoch,
                                        bool restore, bool force, bool* begin_restore) {
  const std::lock_guard<std::mutex> lock(mutex_);
  *begin_restore = false;
  const std::string former = lease_.current() ? lease_.current()->holder : "";
  auto result = lease_.Release(holder, epoch, force);
  if (auto* problem = std::get_if<Problem>(&result)) return *problem;
  const auto ended = std::get<LeaseBook::Ended>(result);
  if (ended == LeaseBook::Ended::kReleased) EmitLocked("lease_released", [&] { return "by '" + former + "'"; });
  if (ended == LeaseBook::Ended::kRevoked) EmitLocked("lease_revoked", [&] { return "from '" + former + "'"; });
  // Even if the lease has just expired: its former holder must learn that an operator revoked it.
  if (force) revoked_epoch_ = lease_.last_epoch();
  // Without a lease, only an operator's `force` may stop a restore in progress.
  if (ended == LeaseBook::Ended::kNobodyHeld && !force) return std::nullopt;
  if (restore) {
    *begin_restore = BeginRestoreLocked();
  } else {
    restore_.Drop();
    // What a change in flight sets is kept, too: it is adopted when it is known.
    if (changes_in_flight_ > 0) {
      adoption_due_ = true;
    } else {
      originals_.Adopt();
    }
  }
  return std::nullopt;
}

bool Control::ExpireIfDue(double now_s) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto ended = lease_.ExpireIfDue(now_s);
  if (!ended) return false;
  EmitLocked("lease_expired", [&] { return "of '" + ended->holder + "', epoch " + std::to_string(ended->epoch); });
  return BeginRestoreLocked();
}

bool Control::BeginRestoreLocked() {
  if (!restore_.Begin()) return false;
  EmitLocked("restore_begin", [&] { return std::to_string(restore_.Status().steps_left) + " steps"; });
  return true;
}

std::optional<Problem> Control::CheckCaller(const std::string& holder, int64_t epoch, double now_s) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  LeaseBook now = lease_;
  now.ExpireIfDue(now_s);  // if it is overdue and its timer has not fired yet
  return now.Check(holder, epoch);
}

std::optional<Problem> Control::AcceptChange(const std::string& holder, int64_t epoch,
                                             const std::vector<Change>& changes, RestorePlan plan, double now_s) {
  const std::lock_guard<std::mutex> lock(mutex_);
  LeaseBook now = lease_;
  now.ExpireIfDue(now_s);
  if (auto problem = now.Check(holder, epoch)) return problem;
  AdoptIfDueLocked();
  const auto is_open = [this](const std::string& name) { return column_families_->Has(name); };
  if (const auto missing = originals_.FirstUncovered(plan, changes, is_open)) {
    return Problem{422, "plan_incomplete",
                   "The restore plan does not name " + adocd::Describe(*missing) +
                       "; it must name every option that is changed or differs from its original.",
                   {}, missing->name};
  }
  restore_.Arm(std::move(plan));
  return std::nullopt;
}

void Control::AdoptIfDueLocked() {
  if (!adoption_due_) return;
  originals_.Adopt();
  adoption_due_ = false;
}

void Control::ChangeQueued() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++changes_in_flight_;
}

void Control::ChangeFinished() {
  const std::lock_guard<std::mutex> lock(mutex_);
  --changes_in_flight_;
  try {
    AdoptIfDueLocked();
  } catch (...) {
    // Out of memory: before the next change.
  }
}

void Control::BookLocked(const Change& change, const StepResult& result) {
  if (result.target_gone) return;
  for (const auto& [key, value] : KeyValues(change)) {
    const auto seen = result.read_back.find(key.name);
    originals_.Observe(key, seen == result.read_back.end() ? std::nullopt : std::optional(seen->second));
  }
}

void Control::StepExecuted(const Change& change, const StepResult& result) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // The host may have changed the option since the open, and that is what a restore leads back to.
  for (const auto& [key, value] : KeyValues(change)) {
    const auto before = result.before.find(key.name);
    if (before != result.before.end()) originals_.SetByOwner(key, before->second);
  }
  BookLocked(change, result);
  if (result.outcome != StepResult::Outcome::kUnchanged) {
    EmitLocked("options_changed", [&] { return Outcome(change, result); });
  }
}

std::optional<Control::Pending> Control::NextRestoreStep() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const RestoreStep* step = restore_.Next();
  if (!step) return std::nullopt;
  return Pending{*step, restore_.plan_number()};
}

std::optional<int64_t> Control::RateLimitToRestore() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return restore_.RateLimit();
}

void Control::RestoreWaits(uint64_t plan_number, std::string what_for) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (restore_.executing() && restore_.plan_number() == plan_number) restore_.WaitFor(std::move(what_for));
}

void Control::RestoreRuns(uint64_t plan_number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (restore_.plan_number() == plan_number) restore_.StopWaiting();
}

void Control::RestoreStepDone(const Pending& pending, const StepResult& result) {
  const std::lock_guard<std::mutex> lock(mutex_);
  BookLocked(pending.step.change, result);
  EmitLocked("restore_step", [&] { return Outcome(pending.step.change, result); });
  if (restore_.plan_number() != pending.plan_number) return;
  std::optional<std::string> error;
  if (result.error) error = adocd::Describe(pending.step.change) + ": " + *result.error;
  if (!restore_.StepDone(error)) return;
  const size_t errors = restore_.Status().errors.size();
  EmitLocked("restore_end", [&] { return errors ? std::to_string(errors) + " steps failed" : ""; });
}

std::optional<double> Control::LeaseLeftSeconds(double now_s) const noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto& lease = lease_.current();
  if (!lease || lease->expires_at_s <= now_s) return std::nullopt;
  return lease->expires_at_s - now_s;
}

ControlStatus Control::Status(double now_s) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  ControlStatus status;
  if (lease_.current() && now_s < lease_.current()->expires_at_s) status.lease = lease_.current();
  status.restore = restore_.Status();
  status.change_in_flight = changes_in_flight_ > 0;
  status.revoked_epoch = revoked_epoch_;
  return status;
}

}  // namespace adocd
