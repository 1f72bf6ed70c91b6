#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "problem.h"

namespace adocd {

struct Lease {
  std::string holder;
  int64_t epoch = 0;
  double ttl_s = 0;
  double expires_at_s = 0;
};

// The lease that allows changes: at most one holder; each new lease has a higher epoch. It has no clock: callers pass
// the time, so that tests need not wait. It does not check for expiry by itself: its owner calls ExpireIfDue first.
class LeaseBook {
 public:
  struct Held {
    Lease lease;
    bool acquired;  // false: renewed
  };
  enum class Ended { kNobodyHeld, kReleased, kRevoked };

  std::variant<Held, Problem> Hold(const std::string& holder, std::optional<int64_t> epoch, double ttl_s,
                                   double now_s);

  // Whether this caller may change options now; a problem says why not.
  std::optional<Problem> Check(const std::string& holder, int64_t epoch) const;

  std::variant<Ended, Problem> Release(const std::optional<std::string>& holder, std::optional<int64_t> epoch,
                                       bool force);

  // Ends an overdue lease; returns the lease that ended.
  std::optional<Lease> ExpireIfDue(double now_s);

  const std::optional<Lease>& current() const { return lease_; }
  // The epoch of the newest lease, held or not; 0 before the first.
  int64_t last_epoch() const { return last_epoch_; }

 private:
  Problem Lost(int64_t epoch) const;
  Problem HeldByAnother() const;

  std::optional<Lease> lease_;
  int64_t last_epoch_ = 0;
};

}  // namespace adocd
