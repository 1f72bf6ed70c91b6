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

// Where the execution of the restore plan stands. Decides nothing and calls nothing: the apply thread asks for
// the next step and reports what became of it.
class Restore {
 public:
  // A PATCH brought a plan; it replaces the one before.
  void Arm(RestorePlan plan);
  // The plan is given up (restore=false).
  void Drop();
  // Dropped: its steps must not be applied to another one of the same name.
  void ForgetColumnFamily(const std::string& column_family);
  // The lease ended. Returns whether there is anything to execute.
  bool Begin();
  // A new lease was acquired: stop; what is left belongs to the new lease.
  void Interrupt();

  bool executing() const { return executing_; }
  // Changes whenever the plan is replaced, so that the result of a step of an old plan is not booked on a new one.
  uint64_t plan_number() const { return plan_number_; }
  // The step to execute next; nullptr when there is none.
  const RestoreStep* Next() const { return executing_ && next_ < plan_.size() ? &plan_[next_] : nullptr; }
  void WaitFor(std::string condition) { waiting_for_ = std::move(condition); }
  void StopWaiting() { waiting_for_.reset(); }
  // The step at Next() was executed, also when a new lease has interrupted meanwhile. Returns whether this was
  // the last step of an execution.
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
