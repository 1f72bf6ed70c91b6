#include "stall_tracker.h"

#include <algorithm>

namespace adocd {

const char* StallConditionName(StallCondition condition) {
  switch (condition) {
    case StallCondition::kNormal:
      return "normal";
    case StallCondition::kDelayed:
      return "delayed";
    case StallCondition::kStopped:
      return "stopped";
  }
  return "normal";
}

StallCondition StallTracker::Balance::Current() const {
  for (int condition = 2; condition > 0; --condition) {
    if (entered[condition] > 0) return static_cast<StallCondition>(condition);
  }
  return StallCondition::kNormal;
}

void StallTracker::Changed(const std::string& column_family, StallCondition previous, StallCondition current,
                           double now_s) {
  // A job that began before the drop may still report; a dropped column family stalls nobody.
  if (dropped_.count(column_family)) return;
  CountUntil(now_s);
  Balance& balance = column_families_[column_family];
  --balance.entered[static_cast<int>(previous)];
  ++balance.entered[static_cast<int>(current)];
  from_events_ = WorstEvent();
  from_sample_ = StallCondition::kNormal;  // older than this event
  contradictions_ = 0;
  SetCurrent(now_s);
}

void StallTracker::Dropped(const std::string& column_family, double now_s) {
  CountUntil(now_s);
  dropped_.insert(column_family);
  column_families_.erase(column_family);
  from_events_ = WorstEvent();
  SetCurrent(now_s);
}

void StallTracker::Sampled(StallCondition condition, double now_s) {
  CountUntil(now_s);
  from_sample_ = condition;
  sampled_at_s_ = now_s;
  const bool contradiction = condition == StallCondition::kNormal && from_events_ != StallCondition::kNormal;
  contradictions_ = contradiction ? contradictions_ + 1 : 0;
  if (contradictions_ >= 2) {
    column_families_.clear();
    from_events_ = StallCondition::kNormal;
    contradictions_ = 0;
  }
  SetCurrent(now_s);
}

StallCondition StallTracker::WorstEvent() const {
  StallCondition worst = StallCondition::kNormal;
  for (const auto& [name, balance] : column_families_) worst = std::max(worst, balance.Current());
  return worst;
}

void StallTracker::Count(StallCondition condition, double until_s) {
  const double elapsed_s = until_s - counted_until_s_;
  if (elapsed_s <= 0) return;
  if (condition == StallCondition::kStopped) stopped_s_ += elapsed_s;
  if (condition == StallCondition::kDelayed) delayed_s_ += elapsed_s;
  counted_until_s_ = until_s;
}

void StallTracker::CountUntil(double now_s) {
  const double valid_until_s = sampled_at_s_ + kSampleValidSeconds;
  Count(std::max(from_events_, from_sample_), std::min(now_s, valid_until_s));
  if (now_s > valid_until_s && from_sample_ != StallCondition::kNormal) {
    from_sample_ = StallCondition::kNormal;
    SetCurrent(valid_until_s);
  }
  Count(from_events_, now_s);
}

void StallTracker::SetCurrent(double now_s) {
  const StallCondition current = std::max(from_events_, from_sample_);
  if (current == condition_) return;
  condition_ = current;
  since_s_ = now_s;
}

StallTotals StallTracker::Totals(double now_s) const {
  StallTracker now = *this;
  now.CountUntil(now_s);
  return {now.condition_, now.since_s_, now.stopped_s_, now.delayed_s_};
}

}  // namespace adocd
