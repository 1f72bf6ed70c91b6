#pragma once
#include <optional>
#include <string>
#include <vector>

#include "change.h"

namespace adocd {

struct RestoreStatus {
  const char* state = "none";
  size_t steps_left = 0;
  std::optional<std::string> waiting_for;
  std::vector<std::string> errors;
};

// The restore plan and the progress of its execution. It executes nothing itself: the apply thread asks for the next
// step and reports the result.
class Restore {
 public:
  // Stores the plan of a PATCH, in place of the one before.
  void Arm(RestorePlan plan);
  // Discards the plan (restore=false).
  void Drop();
  // A column family was dropped: its steps must not be applied to a new one of the same name.
  void ForgetColumnFamily(const std::string& column_family);
  // Begins the execution, because the lease has ended. Returns whether there is anything to execute.
  bool Begin();
  // Stops the execution, because a new lease was acquired; the remaining steps belong to it.
  void Interrupt();

  bool executing() const { return executing_; }
  // Changes whenever the plan is replaced, so that the result of an old plan's step does not count for the new plan.
  uint64_t plan_number() const { return plan_number_; }
  // The step to execute next; nullptr if there is none.
  const RestoreStep* Next() const { return executing_ && next_ < plan_.size() ? &plan_[next_] : nullptr; }
  // The rate limit that a step to come sets without a condition; nothing while no plan is executed.
  std::optional<int64_t> RateLimit() const;
  void WaitFor(std::string condition) { waiting_for_ = std::move(condition); }
  void StopWaiting() { waiting_for_.reset(); }
  // Call it after the step at Next() was executed, even if a new lease has stopped the execution meanwhile. Returns
  // whether it was the last step of an execution.
  bool StepDone(const std::optional<std::string>& error);

  RestoreStatus Status() const;

 private:
  RestorePlan plan_;
  size_t next_ = 0;
  uint64_t plan_number_ = 0;
  bool executing_ = false;
  bool done_once_ = false;
  std::optional<std::string> waiting_for_;
  std::vector<std::string> errors_;
};

}  // namespace adocd
