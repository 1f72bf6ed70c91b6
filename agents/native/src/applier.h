#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "change.h"
#include "control.h"
#include "gate.h"

namespace adocd {

class Session;

struct ChangeRequest {
  std::string holder;
  int64_t epoch = 0;
  std::vector<Change> changes;
  RestorePlan restore_plan;
  bool repeat = false;  // execute a step even if its values are already set
  bool lift_rate_limit = false;  // while a call of it waits (limiter_lift.h)
};

using ChangeOutcome = std::variant<std::vector<StepResult>, Problem>;
using ChangeDone = std::function<void(ChangeOutcome)>;

// The apply thread of one session: executes changes and restore plans, one step at a time. Each database has its own,
// because a SetOptions that waits during a stall must not delay another database's restore. Started when first needed.
class Applier : public std::enable_shared_from_this<Applier> {
 public:
  explicit Applier(std::weak_ptr<Session> session) : session_(std::move(session)) {}

  // `done` is called on the apply thread (or on the caller's, if no thread can be started).
  void Submit(ChangeRequest request, ChangeDone done);
  // Makes the thread look for a restore plan to execute, or check again the condition that a restore waits for.
  void Wake();
  void WakeIfStarted();
  // Ends the thread because the session is closed; queued changes are refused.
  void Stop();

 private:
  struct Job {
    ChangeRequest request;
    ChangeDone done;
  };
  bool StartLocked();
  // A SetOptions can wait for a write stall whose flush waits for the rate limiter: that one cannot wait for its turn.
  void RaiseRateLimitToRestore();
  void Run();
  void RunJob(Session& session, Job job) noexcept;
  ChangeOutcome ExecuteChanges(Session& session, ChangeRequest& request);
  static StepResult ExecuteOne(Session& session, const Change& change, const ChangeRequest& request);
  // Waits while the host tries to close. If the database is closed then, `use` is not inside the gate.
  void EnterWhenOpen(Session& session, std::optional<GateUse>* use);
  // Returns whether the thread should pause before it looks again.
  bool RunRestoreStep(Session& session) noexcept;
  bool ExecuteRestoreStep(Session& session);
  static void Refuse(const Job& job) noexcept;

  const std::weak_ptr<Session> session_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<Job> jobs_;
  bool started_ = false;
  bool woken_ = false;
  bool stopped_ = false;
};

}  // namespace adocd
