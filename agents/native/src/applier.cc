#include "applier.h"

#include <chrono>

#include "clock.h"
#include "collect.h"
#include "executor.h"
#include "session.h"
#include "thread.h"

namespace adocd {
namespace {

// The protocol asks for at least once a second.
constexpr auto kConditionCheckInterval = std::chrono::milliseconds(200);

Problem DatabaseClosed() {
  return {409, "database_closed", "The database was closed; list the databases again.", {}, {}};
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
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!stopped_ && StartLocked()) {
      if (const auto session = session_.lock()) session->control.ChangeQueued();
      jobs_.push_back({std::move(request), std::move(done)});
      work_.notify_all();
      return;
    }
    if (!stopped_) {
      done(Problem{503, "unavailable", "The process cannot start the agent's apply thread.", {}, {}});
      return;
    }
  }
  done(DatabaseClosed());
}

void Applier::Wake() {
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
  Refuse(std::move(jobs));
}

void Applier::Refuse(std::deque<Job> jobs) {
  for (auto& job : jobs) job.done(DatabaseClosed());
}

void Applier::Run() {
  bool waiting = false;
  for (;;) {
    std::optional<Job> job;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      const auto ready = [this] { return stopped_ || woken_ || !jobs_.empty(); };
      if (waiting) {
        work_.wait_for(lock, kConditionCheckInterval, ready);
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
    if (!session) return;
    // A change in flight goes first: the lease may have ended, but what it began is finished before the restore.
    if (job) RunJob(*session, std::move(*job));
    waiting = RunRestoreStep(*session);
  }
}

void Applier::RunJob(Session& session, Job job) {
  auto& request = job.request;
  const auto finish = [&](ChangeOutcome outcome) {
    session.control.ChangeFinished();
    job.done(std::move(outcome));
  };
  auto problem = session.control.AcceptChange(request.holder, request.epoch, request.changes,
                                              std::move(request.restore_plan), MonotonicSeconds());
  if (problem) return finish(std::move(*problem));
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
    StepResult result = Execute(session, change);
    session.control.StepExecuted(change, result);
    const bool failed = result.outcome == StepResult::Outcome::kError;
    if (failed && result.target_gone && session.closed() && steps.empty()) return finish(DatabaseClosed());
    steps.push_back(std::move(result));
    if (failed) break;
  }
  finish(std::move(steps));
}

bool Applier::RunRestoreStep(Session& session) {
  const auto pending = session.control.NextRestoreStep();
  if (!pending) return false;
  const auto& step = pending->step;
  if (step.when) {
    uint64_t value = 0;
    bool readable = false;
    {
      const GateUse use(session.gate);
      readable = use && ReadIntProperty(session, step.when->column_family, step.when->property, &value);
    }
    // What cannot be read is gone since the plan was accepted: a dropped column family has no level-0 files. The
    // change may be another's, so it must not stay undone.
    if (readable && static_cast<__int128>(value) >= step.when->below) {
      session.control.RestoreWaits(pending->plan_number, *step.when);
      return true;
    }
  }
  session.control.RestoreRuns(pending->plan_number);
  const StepResult result = Execute(session, step.change);
  session.control.RestoreStepDone(*pending, result);
  const std::lock_guard<std::mutex> lock(mutex_);
  woken_ = true;  // look for the next step at once
  return false;
}

}  // namespace adocd
