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
  bool repeat = false;  // execute a step also where its values are there
};

using ChangeOutcome = std::variant<std::vector<StepResult>, Problem>;
using ChangeDone = std::function<void(ChangeOutcome)>;

// The apply thread of one session: executes changes and restore plans, one step at a time. One thread a database,
// because a SetOptions that waits for a stall in one must not delay another's restore. Started by its first work.
class Applier : public std::enable_shared_from_this<Applier> {
 public:
  explicit Applier(std::weak_ptr<Session> session) : session_(std::move(session)) {}

  // `done` is called on the apply thread (or on the caller's, when no thread can be started).
  void Submit(ChangeRequest request, ChangeDone done);
  // There is a restore plan to execute, or the wait for a condition should be looked at again.
  void Wake();
  void WakeIfStarted();
  // The session is closed; what is queued is refused.
  void Stop();

 private:
  struct Job {
    ChangeRequest request;
    ChangeDone done;
  };
  bool StartLocked();
  void Run();
  void RunJob(Session& session, Job job) noexcept;
  ChangeOutcome ExecuteChanges(Session& session, ChangeRequest& request);
  // Waits as long as the host tries to close; `use` is empty-handed when the database is closed.
  void EnterWhenOpen(Session& session, std::optional<GateUse>* use);
  // Returns whether the thread should wait before it looks again.
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
