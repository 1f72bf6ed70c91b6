#include "applier.h"

#include <chrono>

#include "clock.h"
#include "collect.h"
#include "executor.h"
#include "session.h"
#include "thread.h"

namespace adocd {
namespace {

// How often to check a condition (the protocol requires at least once a second) or a closed gate.
constexpr auto kRetryInterval = std::chrono::milliseconds(200);

// A change can hang for as long as a stall, and those that wait behind it may be abandoned by their clients.
constexpr size_t kMostWaiting = 8;

Problem Failed() {
  return {500, "internal", "The agent failed while it executed the change; read the options before another.", {}, {}};
}

}  // namespace

bool Applier::StartLocked() {
  if (started_) return true;
  try {
    StartThread("adocd-apply", [self = shared_from_this()] { self->Run(); }).detach();
    started_ = true;
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

void Applier::Submit(ChangeRequest request, ChangeDone done) {
  Problem refusal = DatabaseClosed();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!stopped_ && jobs_.size() >= kMostWaiting) {
      refusal = {503, "unavailable", "Too many changes of this database wait already; try again later.", {}, {}};
    } else if (!stopped_ && StartLocked()) {
      jobs_.push_back({std::move(request), std::move(done)});
      if (const auto session = session_.lock()) session->control.ChangeQueued();
      work_.notify_all();
      return;
    } else if (!stopped_) {
      refusal = {503, "unavailable", "The process cannot start the agent's apply thread.", {}, {}};
    }
  }
  done(std::move(refusal));
}

void Applier::RaiseRateLimitToRestore() {
  const auto session = session_.lock();
  if (!session || session->closed() || !session->rate_limiter) return;
  const auto rate = session->control.RateLimitToRestore();
  if (rate && *rate > session->rate_limiter->GetBytesPerSecond()) session->rate_limiter->SetBytesPerSecond(*rate);
}

void Applier::Wake() {
  RaiseRateLimitToRestore();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stopped_ || !StartLocked()) return;
  woken_ = true;
  work_.notify_all();
}

void Applier::WakeIfStarted() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stopped_ || !started_) return;
  woken_ = true;
  work_.notify_all();
}

void Applier::Stop() {
  std::deque<Job> jobs;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    jobs.swap(jobs_);
    work_.notify_all();
  }
  for (const auto& job : jobs) Refuse(job);
}

void Applier::Refuse(const Job& job) noexcept {
  try {
    job.done(DatabaseClosed());
  } catch (...) {
    // Out of memory: the client gets no answer and times out.
  }
}

void Applier::Run() {
  bool waiting = false;
  for (;;) {
    std::optional<Job> job;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      const auto ready = [this] { return stopped_ || woken_ || !jobs_.empty(); };
      if (waiting) {
        work_.wait_for(lock, kRetryInterval, ready);
      } else {
        work_.wait(lock, ready);
      }
      if (stopped_) return;
      woken_ = false;
      if (!jobs_.empty()) {
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
    }
    const std::shared_ptr<Session> session = session_.lock();
    if (!session) {
      if (job) Refuse(*job);
      return;
    }
    // A change in flight goes first: even if its lease has ended, it is finished before the restore.
    if (job) RunJob(*session, std::move(*job));
    RaiseRateLimitToRestore();  // the job may have lowered it since the restore began
    waiting = RunRestoreStep(*session);
  }
}

void Applier::RunJob(Session& session, Job job) noexcept {
  std::optional<ChangeOutcome> outcome;
  try {
    outcome = ExecuteChanges(session, job.request);
  } catch (...) {
    // Out of memory. The restore plan is already stored, so the steps that were executed can still be undone.
  }
  session.control.ChangeFinished();
  try {
    job.done(outcome ? std::move(*outcome) : Failed());
  } catch (...) {
    try {
      job.done(Failed());
    } catch (...) {
      // Not even enough memory for that: the client gets no answer and times out.
    }
  }
}

ChangeOutcome Applier::ExecuteChanges(Session& session, ChangeRequest& request) {
  auto problem = session.control.AcceptChange(request.holder, request.epoch, request.changes,
                                              std::move(request.restore_plan), MonotonicSeconds());
  if (problem) return std::move(*problem);
  std::vector<StepResult> steps;
  for (const auto& change : request.changes) {
    const auto lost = steps.empty() ? std::nullopt
                                    : session.control.CheckCaller(request.holder, request.epoch, MonotonicSeconds());
    if (lost) {
      // The lease ended between two steps: the restore must not race with the rest of this list.
      StepResult result;
      result.error = "Not executed: the lease ended before this step.";
      steps.push_back(std::move(result));
      break;
    }
    std::optional<GateUse> use;
    EnterWhenOpen(session, &use);
    if (!*use && steps.empty()) return DatabaseClosed();
    StepResult result = *use ? ExecuteOne(session, change, request) : Gone("The database was closed.");
    session.control.StepExecuted(change, result);
    const bool failed = result.outcome == StepResult::Outcome::kError;
    steps.push_back(std::move(result));
    if (failed) break;
  }
  return steps;
}

StepResult Applier::ExecuteOne(Session& session, const Change& change, const ChangeRequest& request) {
  const bool may_wait = change.scope == Scope::kColumnFamily || change.scope == Scope::kDatabase;
  std::optional<LimiterLift::Call> call;
  if (may_wait && request.lift_rate_limit && session.rate_limiter) call.emplace(&session);
  return Execute(session, change, request.repeat);
}

void Applier::EnterWhenOpen(Session& session, std::optional<GateUse>* use) {
  for (;;) {
    use->emplace(session.gate);
    if (**use || session.closed()) return;
    // The host tries to close, which RocksDB may refuse.
    std::unique_lock<std::mutex> lock(mutex_);
    if (work_.wait_for(lock, kRetryInterval, [this] { return stopped_; })) return;
  }
}

bool Applier::RunRestoreStep(Session& session) noexcept {
  try {
    return ExecuteRestoreStep(session);
  } catch (...) {
    return true;  // out of memory: keep the step and try it again
  }
}

bool Applier::ExecuteRestoreStep(Session& session) {
  const auto pending = session.control.NextRestoreStep();
  if (!pending) return false;
  const auto& step = pending->step;
  // Check the condition and execute in one pass through the gate. If the host tries to close, wait for the result.
  const GateUse use(session.gate);
  if (!use) return !session.closed();
  if (step.when) {
    uint64_t value = 0;
    const bool readable = ReadIntProperty(session, step.when->column_family, step.when->property, &value);
    // What cannot be read has disappeared since the plan was accepted: a dropped column family has no level-0 files.
    // The step is executed all the same, because it may restore an option of another column family.
    if (readable && static_cast<__int128>(value) >= step.when->below) {
      session.control.RestoreWaits(pending->plan_number, Describe(*step.when));
      return true;
    }
  }
  session.control.RestoreRuns(pending->plan_number);
  const StepResult result = step.target_dropped ? Gone("Column family '" + step.change.column_family + "' is gone.")
                                                : ExecuteWhatFits(session, step.change);
  if (result.lacks_room) {
    session.control.RestoreWaits(pending->plan_number, *result.lacks_room);
    return true;
  }
  session.control.RestoreStepDone(*pending, result);
  const std::lock_guard<std::mutex> lock(mutex_);
  woken_ = true;  // so that the next step follows at once
  return false;
}

}  // namespace adocd
