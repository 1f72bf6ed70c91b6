#include "stall_tracker.h"

#include <algorithm>

namespace adocd {
namespace {
constexpr size_t kMaxDroppedRemembered = 1024;  // late reports come soon after the drop
}  // namespace

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
  // A job that began before the drop may still report a stall, but a dropped column family stalls no write.
  if (dropped_.count(column_family)) return;
  account_.CountUntil(now_s);
  Balance& balance = column_families_[column_family];
  --balance.entered[static_cast<int>(previous)];
  ++balance.entered[static_cast<int>(current)];
  account_.from_events = WorstEvent();
  account_.from_sample = StallCondition::kNormal;  // the last sample is older than this event
  contradictions_ = 0;
  account_.SetCurrent(now_s);
}

void StallTracker::Dropped(const std::string& column_family, double now_s) {
  account_.CountUntil(now_s);
  if (dropped_.size() >= kMaxDroppedRemembered) dropped_.clear();
  dropped_.insert(column_family);
  column_families_.erase(column_family);
  account_.from_events = WorstEvent();
  account_.SetCurrent(now_s);
}

void StallTracker::Sampled(StallCondition condition, double now_s) {
  account_.CountUntil(now_s);
  account_.from_sample = condition;
  account_.sampled_at_s = now_s;
  const bool contradiction = condition == StallCondition::kNormal && account_.from_events != StallCondition::kNormal;
  contradictions_ = contradiction ? contradictions_ + 1 : 0;
  if (contradictions_ >= 2) {
    column_families_.clear();
    account_.from_events = StallCondition::kNormal;
    contradictions_ = 0;
  }
  account_.SetCurrent(now_s);
}

StallCondition StallTracker::WorstEvent() const {
  StallCondition worst = StallCondition::kNormal;
  for (const auto& [name, balance] : column_families_) worst = std::max(worst, balance.Current());
  return worst;
}

void StallTracker::Account::Count(StallCondition condition, double until_s) {
  const double elapsed_s = until_s - counted_until_s;
  if (elapsed_s <= 0) return;
  if (condition == StallCondition::kStopped) stopped_s += elapsed_s;
  if (condition == StallCondition::kDelayed) delayed_s += elapsed_s;
  counted_until_s = until_s;
}

void StallTracker::Account::CountUntil(double now_s) {
  const double valid_until_s = sampled_at_s + kSampleValidSeconds;
  Count(std::max(from_events, from_sample), std::min(now_s, valid_until_s));
  if (now_s > valid_until_s && from_sample != StallCondition::kNormal) {
    from_sample = StallCondition::kNormal;
    SetCurrent(valid_until_s);
  }
  Count(from_events, now_s);
}

void StallTracker::Account::SetCurrent(double now_s) {
  const StallCondition current = std::max(from_events, from_sample);
  if (current == condition) return;
  condition = current;
  since_s = now_s;
}

StallTotals StallTracker::Totals(double now_s) const {
  Account now = account_;
  now.CountUntil(now_s);
  return {now.condition, now.since_s, now.stopped_s, now.delayed_s};
}

}  // namespace adocd
