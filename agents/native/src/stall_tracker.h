#pragma once
#include <map>
#include <set>
#include <string>

namespace adocd {

enum class StallCondition { kNormal = 0, kDelayed = 1, kStopped = 2 };

const char* StallConditionName(StallCondition condition);

struct StallTotals {
  StallCondition condition = StallCondition::kNormal;
  double since_s = 0;
  double stopped_s = 0;
  double delayed_s = 0;
};

// The stall condition of the database (the worst of its column families), and how long it was in each condition,
// including the stall in progress. It has two sources, of which the worse counts: stall events, and RocksDB's
// properties in a sample. Events alone would miss most memtable stalls: RocksDB reports the change that a memtable
// switch causes only when the stalled write is done (db_impl_write.cc, WriteContext). Not synchronised; has no clock.
class StallTracker {
 public:
  explicit StallTracker(double now_s) : account_{now_s, now_s} {}

  void Changed(const std::string& column_family, StallCondition previous, StallCondition current, double now_s);
  void Dropped(const std::string& column_family, double now_s);
  void Created(const std::string& column_family) { dropped_.erase(column_family); }
  void Sampled(StallCondition condition, double now_s);

  StallTotals Totals(double now_s) const;

  // How long the last sample counts: without a client, no new one is taken.
  static constexpr double kSampleValidSeconds = 2;

 private:
  // RocksDB reports changes outside its mutex, so two threads may report them in the wrong order. How often each
  // condition was entered, minus how often it was left, is the same in any order.
  struct Balance {
    int entered[3] = {1, 0, 0};
    StallCondition Current() const;
  };
  // The time in each condition.
  struct Account {
    void CountUntil(double now_s);
    void Count(StallCondition condition, double until_s);
    void SetCurrent(double now_s);

    double since_s;
    double counted_until_s;
    StallCondition from_events = StallCondition::kNormal;
    StallCondition from_sample = StallCondition::kNormal;
    double sampled_at_s = 0;
    StallCondition condition = StallCondition::kNormal;
    double stopped_s = 0;
    double delayed_s = 0;
  };
  StallCondition WorstEvent() const;

  std::map<std::string, Balance> column_families_;
  std::set<std::string> dropped_;
  Account account_;
  // Samples in a row that say normal while events say stalled. Two, without an event between them, mean that an event
  // was missed.
  int contradictions_ = 0;
};

}  // namespace adocd
