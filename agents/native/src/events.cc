#include "events.h"

#include "clock.h"

namespace adocd {
namespace {
// Limits the maps, because some jobs begin and never end (cancelled by a close).
constexpr size_t kMaxJobsRemembered = 1024;
// RocksDB permits fewer; more would mean that a flush was not reported.
constexpr size_t kMaxMemtablesRemembered = 256;
constexpr unsigned kAllKinds = kStallEvents | kMemtableEvents;
}  // namespace

AwaitedKind AwaitedKindOf(std::string_view kind) {
  if (kind == "stall") return kStallEvents;
  return kind == "memtables_wait" ? kMemtableEvents : kNoKind;
}

SessionEvents::SessionEvents() : generation_(g_fork_generation.load()), stall_(MonotonicSeconds()) {}

void SessionEvents::AddLocked(Event event) {
  event.sequence = last_sequence_ + 1;
  if (event.monotonic_s == 0) event.monotonic_s = MonotonicSeconds();
  const AwaitedKind kind = AwaitedKindOf(event.kind);
  const double monotonic_s = event.monotonic_s;
  ring_.push_back(std::make_shared<const Event>(std::move(event)));  // may throw, and then there is no such event
  ++last_sequence_;
  if (kind == kStallEvents) last_stall_ = last_sequence_;
  if (kind == kMemtableEvents) last_memtable_ = last_sequence_;
  if (kind != kNoKind) newest_awaited_s_ = monotonic_s;
  if (ring_.size() > kRingSize) ring_.pop_front();
  if (kind != kNoKind) WakeLocked(kind);
}

void SessionEvents::WakeLocked(unsigned kinds) {
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    if ((waiter->second.kinds & kinds) == 0) {
      ++waiter;
      continue;
    }
    try {
      waiter->second.wake();
      waiter = waiters_.erase(waiter);
    } catch (...) {
      ++waiter;  // out of memory: it wakes when its time is over
    }
  }
}

void SessionEvents::Deactivate() {
  active_.store(false, std::memory_order_release);
  if (!InThisProcess()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  WakeLocked(kAllKinds);
}

uint64_t SessionEvents::Await(uint64_t after, unsigned kinds, std::function<void()> wake) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool stalled = (kinds & kStallEvents) != 0 && last_stall_ > after;
  const bool waits = (kinds & kMemtableEvents) != 0 && last_memtable_ > after;
  if (stalled || waits || !active()) {
    wake();
    return 0;
  }
  waiters_[++last_waiter_] = {kinds, std::move(wake)};
  return last_waiter_;
}

void SessionEvents::EndWait(uint64_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  waiters_.erase(number);
}

double SessionEvents::newest_awaited_s() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return newest_awaited_s_;
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

void SessionEvents::FlushEnded(Event event, const std::string& path, uint64_t largest_seqno) {
  const double now_s = MonotonicSeconds();
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& sealed = sealed_[event.column_family];
  while (!sealed.empty() && sealed.front() <= largest_seqno) sealed.pop_front();
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

void SessionEvents::MemtableSealed(const std::string& column_family, uint64_t first_seqno) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& sealed = sealed_[column_family];
  sealed.push_back(first_seqno);
  if (sealed.size() > kMaxMemtablesRemembered) sealed.pop_front();
  if (sealed.size() < 2) return;
  Event event;
  event.kind = "memtables_wait";
  event.column_family = column_family;
  event.waiting = sealed.size();
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
  sealed_.erase(column_family);
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
