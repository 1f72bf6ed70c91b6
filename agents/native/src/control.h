#pragma once
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "change.h"
#include "column_families.h"
#include "events.h"
#include "lease.h"
#include "originals.h"
#include "restore.h"

namespace adocd {

struct StepResult {
  enum class Outcome { kApplied, kUnchanged, kError };
  Outcome outcome = Outcome::kError;
  double elapsed_s = 0;
  std::optional<std::string> error;
  OptionMap before, read_back;  // of the options that the change names
  std::optional<std::string> lacks_room;  // not executed because the disk is too full: a restore waits
  // Not executed because of these options, whose values do not go together: a restore sets the others.
  std::vector<std::string> at_odds;
  bool target_gone = false;  // the database or column family is closed or dropped: there is nothing to restore
};

struct ControlStatus {
  std::optional<Lease> lease;
  RestoreStatus restore;
  bool change_in_flight = false;
  int64_t revoked_epoch = 0;  // 0: none
};

// The lease, the restore plan and the originals of one session, behind one lock that is never held during a call into
// RocksDB. Emits the events of the lease and of the plan.
class Control {
 public:
  Control(SessionEvents* events, const ColumnFamilies* column_families)
      : events_(events), column_families_(column_families) {}

  void RecordOriginal(const OptionKey& key, const std::string& value);
  // What the host sets before the first lease is the original. A later SetOptions may be our own, and each change reads
  // what it finds anyway.
  void SetByHost(const OptionKey& key, const std::string& value);
  void ForgetColumnFamily(const std::string& column_family);
  std::vector<ChangedSetting> ChangedOutsideDatabase() const;
  OptionMap OriginalsOf(Scope scope, const std::string& owner) const;
  bool ChangeInFlight() const noexcept;

  std::variant<Lease, Problem> Hold(const std::string& holder, std::optional<int64_t> epoch, double ttl_s,
                                    double now_s);
  // Returns a problem, or nothing. Sets `begin_restore` if a restore plan must be executed now.
  std::optional<Problem> Release(const std::optional<std::string>& holder, std::optional<int64_t> epoch,
                                 bool restore, bool force, bool* begin_restore);
  // How long the lease still holds; nothing if nobody has one that does. Needs no memory, as ExpireIfDue.
  std::optional<double> LeaseLeftSeconds(double now_s) const noexcept;
  // Returns whether a restore plan must be executed now.
  bool ExpireIfDue(double now_s);

  std::optional<Problem> CheckCaller(const std::string& holder, int64_t epoch, double now_s) const;
  // The last check before the first step; on success the restore plan takes effect. One change at a time.
  std::optional<Problem> AcceptChange(const std::string& holder, int64_t epoch, const std::vector<Change>& changes,
                                      RestorePlan plan, double now_s);
  void ChangeQueued();
  void ChangeFinished();
  void StepExecuted(const Change& change, const StepResult& result);

  // Used by the apply thread.
  struct Pending {
    RestoreStep step;
    uint64_t plan_number;
  };
  std::optional<Pending> NextRestoreStep() const;
  std::optional<int64_t> RateLimitToRestore() const;
  void RestoreWaits(uint64_t plan_number, std::string what_for);
  void RestoreRuns(uint64_t plan_number);
  void RestoreStepDone(const Pending& pending, const StepResult& result);

  ControlStatus Status(double now_s) const;

 private:
  bool BeginRestoreLocked();
  // May throw bad_alloc, and is due again then.
  void AdoptIfDueLocked();
  // `detail` makes the event's text.
  template <typename Detail>
  void EmitLocked(const char* kind, Detail detail) noexcept;
  void BookLocked(const Change& change, const StepResult& result);

  SessionEvents* const events_;
  const ColumnFamilies* const column_families_;
  mutable std::mutex mutex_;
  LeaseBook lease_;
  Originals originals_;
  Restore restore_;
  int changes_in_flight_ = 0;
  bool adoption_due_ = false;
  int64_t revoked_epoch_ = 0;
};

}  // namespace adocd
