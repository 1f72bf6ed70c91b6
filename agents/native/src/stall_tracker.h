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

// The condition of the database (the worst of its column families) and how long it was in each, including the
// stall in progress. Two sources, the worse counts: stall events, and what RocksDB's properties say when a sample is
// taken. Events alone would miss most memtable stalls: the change that a memtable switch causes is only reported
// when the stalled write itself is done (db_impl_write.cc, WriteContext). Not synchronised; knows no clock.
class StallTracker {
 public:
  explicit StallTracker(double now_s) : account_{now_s, now_s} {}

  void Changed(const std::string& column_family, StallCondition previous, StallCondition current, double now_s);
  void Dropped(const std::string& column_family, double now_s);
  void Created(const std::string& column_family) { dropped_.erase(column_family); }
  void Sampled(StallCondition condition, double now_s);

  StallTotals Totals(double now_s) const;

  // Without a client nobody samples: what the last sample said counts for at most this long.
  static constexpr double kSampleValidSeconds = 2;

 private:
  // RocksDB reports changes outside its mutex, so two threads may report them in the wrong order. Counting how
  // often each condition was entered minus left gives the same result in every order.
  struct Balance {
    int entered[3] = {1, 0, 0};
    StallCondition Current() const;
  };
  // What is counted by the clock.
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
  // Samples in a row that called normal what events call stalled: twice, without an event between them, means that
  // an event was missed.
  int contradictions_ = 0;
};

}  // namespace adocd
