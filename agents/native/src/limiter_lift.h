#pragma once
#include <cstdint>
#include <mutex>
#include <optional>

namespace adocd {

class Session;

// Gives a rate limit that a lease has lowered back to its owner for as long as a call of ours waits. A SetOptions or
// SetDBOptions that a stop of writes overtakes returns when the stop ends, and no other change of the database is
// executed before. What ends the stop has to pass the limit, which nobody could raise meanwhile.
class LimiterLift {
 public:
  // A call that takes this long waits. RocksDB 9.8 needs 22 ms to write the OPTIONS file of 100 column families.
  static constexpr double kPatienceSeconds = 0.5;
  static constexpr double kLookSeconds = 0.1;

  // On the apply thread, around a call that may wait. At its end the limit is as the lease has set it again, unless
  // somebody has moved it meanwhile or the database closes. A restore that has begun by then raises it anew.
  class Call {
   public:
    explicit Call(Session* session);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Session* const session_;
  };

  // Call it every kLookSeconds while a change is in flight, on any thread.
  void Look(Session& session, double now_s) noexcept;

 private:
  struct Lifted {
    int64_t from = 0, to = 0;  // bytes/s
  };
  // For how long the call has waited, if the limit was lifted now.
  std::optional<double> Lift(Session& session, double now_s);

  std::mutex mutex_;
  std::optional<double> call_since_s_;
  std::optional<Lifted> lifted_;
};

}  // namespace adocd
