#include "events.h"

#include "clock.h"

namespace adocd {
namespace {
// Limits the maps, because some jobs begin and never end (cancelled by a close).
constexpr size_t kMaxJobsRemembered = 1024;
}  // namespace

SessionEvents::SessionEvents() : generation_(g_fork_generation.load()), stall_(MonotonicSeconds()) {}

void SessionEvents::AddLocked(Event event) {
  event.sequence = ++last_sequence_;
  if (event.monotonic_s == 0) event.monotonic_s = MonotonicSeconds();
  ring_.push_back(std::make_shared<const Event>(std::move(event)));
  if (ring_.size() > kRingSize) ring_.pop_front();
}

void SessionEvents::Add(Event event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  AddLocked(std::move(event));
}

void SessionEvents::FlushBegun(Event event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (flush_begun_s_.size() > kMaxJobsRemembered) flush_begun_s_.clear();
  if (event.job) flush_begun_s_[*event.job] = MonotonicSeconds();
  AddLocked(std::move(event));
}

void SessionEvents::FileCreatedByFlush(const std::string& path, uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (flush_file_bytes_.size() > kMaxJobsRemembered) flush_file_bytes_.clear();
  flush_file_bytes_[path] = bytes;
}

void SessionEvents::FlushEnded(Event event, const std::string& path) {
  const double now_s = MonotonicSeconds();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto file = flush_file_bytes_.find(path); file != flush_file_bytes_.end()) {
    event.bytes = file->second;
    flush_file_bytes_.erase(file);
  }
  if (event.job) {
    // One job may flush several column families, so keep its beginning until the map is trimmed.
    const auto begun = flush_begun_s_.find(*event.job);
    if (begun != flush_begun_s_.end()) event.elapsed_s = now_s - begun->second;
  }
  ++counters_.flushes;
  counters_.flush_written_bytes += event.bytes.value_or(0);
  AddLocked(std::move(event));
}

void SessionEvents::CompactionEnded(Event event, bool ok) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ok) ++counters_.compactions;
  counters_.compaction_read_bytes += event.read_bytes.value_or(0);
  counters_.compaction_written_bytes += event.written_bytes.value_or(0);
  AddLocked(std::move(event));
}

void SessionEvents::StallChanged(const std::string& column_family, StallCondition previous, StallCondition current) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Event event;
  event.monotonic_s = MonotonicSeconds();
  event.kind = "stall";
  event.column_family = column_family;
  event.condition = StallConditionName(current);
  event.previous = StallConditionName(previous);
  stall_.Changed(column_family, previous, current, event.monotonic_s);
  AddLocked(std::move(event));
}

void SessionEvents::ColumnFamilyDropped(const std::string& column_family) {
  const std::lock_guard<std::mutex> lock(mutex_);
  stall_.Dropped(column_family, MonotonicSeconds());
}

void SessionEvents::ColumnFamilyCreated(const std::string& column_family) {
  const std::lock_guard<std::mutex> lock(mutex_);
  stall_.Created(column_family);
}

StallTotals SessionEvents::Stall(double now_s) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stall_.Totals(now_s);
}

void SessionEvents::StallSampled(StallCondition condition, double now_s) {
  const std::lock_guard<std::mutex> lock(mutex_);
  stall_.Sampled(condition, now_s);
}

JobCounters SessionEvents::Counters() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counters_;
}

uint64_t SessionEvents::last_sequence() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_sequence_;
}

std::vector<std::shared_ptr<const Event>> SessionEvents::After(uint64_t after, uint64_t* lost) const {
  std::vector<std::shared_ptr<const Event>> result;
  const std::lock_guard<std::mutex> lock(mutex_);
  *lost = 0;
  if (after >= last_sequence_) return result;
  const uint64_t oldest = last_sequence_ - ring_.size() + 1;
  if (after + 1 < oldest) *lost = oldest - after - 1;
  const size_t skip = after + 1 > oldest ? static_cast<size_t>(after + 1 - oldest) : 0;
  result.assign(ring_.begin() + static_cast<std::ptrdiff_t>(skip), ring_.end());
  return result;
}

}  // namespace adocd
