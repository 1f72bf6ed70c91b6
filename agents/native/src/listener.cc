// Compiled without RTTI, like Debian's librocksdb, because the class below derives from a class of RocksDB.
#include "listener.h"

#include <algorithm>
#include <set>

#include "fork_generation.h"
#include "rocksdb_names.h"

namespace adocd {
namespace {

// The EventListener objects that are ours. Their Name() cannot identify them: RocksDB writes a listener's name into the
// OPTIONS file, and a host without the agent could not load that file.
std::set<const rocksdb::EventListener*>& Ours() {
  static auto* ours = new std::set<const rocksdb::EventListener*>;
  return *ours;
}

StallCondition FromRocksDb(rocksdb::WriteStallCondition condition) {
  switch (condition) {
    case rocksdb::WriteStallCondition::kDelayed:
      return StallCondition::kDelayed;
    case rocksdb::WriteStallCondition::kStopped:
      return StallCondition::kStopped;
    case rocksdb::WriteStallCondition::kNormal:
      break;
  }
  return StallCondition::kNormal;
}

// Callbacks run on RocksDB's threads: they record, never call RocksDB (that deadlocks), never throw.
class Listener final : public rocksdb::EventListener {
 public:
  Listener(std::shared_ptr<SessionEvents> events, std::shared_ptr<ColumnFamilies> column_families)
      : events_(std::move(events)), column_families_(std::move(column_families)) {
    const std::lock_guard<std::mutex> lock(g_process_mutex);
    Ours().insert(this);
  }
  ~Listener() override {
    if (!events_->InThisProcess()) return;
    const std::lock_guard<std::mutex> lock(g_process_mutex);
    Ours().erase(this);
  }

  void OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo& info) override {
    Record(info.cf_name, [&] { events_->FlushBegun(FlushEvent("flush_begin", info)); });
  }

  void OnTableFileCreated(const rocksdb::TableFileCreationInfo& info) override {
    if (info.reason != rocksdb::TableFileCreationReason::kFlush || !info.status.ok()) return;
    Record(info.cf_name, [&] { events_->FileCreatedByFlush(info.file_path, info.file_size); });
  }

  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& info) override {
    Record(info.cf_name, [&] { events_->FlushEnded(FlushEvent("flush_end", info), info.file_path, info.largest_seqno); });
  }

  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo& info) override {
    Record(info.cf_name, [&] { events_->Add(CompactionEvent("compaction_begin", info)); });
  }

  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo& info) override {
    Record(info.cf_name, [&] {
      Event event = CompactionEvent("compaction_end", info);
      event.read_bytes = info.stats.total_input_bytes;
      event.written_bytes = info.stats.total_output_bytes;
      event.elapsed_s = static_cast<double>(info.stats.elapsed_micros) * 1e-6;
      if (!info.status.ok()) event.detail = info.status.ToString();
      events_->CompactionEnded(std::move(event), info.status.ok());
    });
  }

  void OnMemTableSealed(const rocksdb::MemTableInfo& info) override {
    Record(info.cf_name, [&] { events_->MemtableSealed(info.cf_name, info.first_seqno); });
  }

  void OnStallConditionsChanged(const rocksdb::WriteStallInfo& info) override {
    Record(info.cf_name, [&] {
      events_->StallChanged(info.cf_name, FromRocksDb(info.condition.prev), FromRocksDb(info.condition.cur));
    });
  }

  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* status) override {
    Record("", [&] {
      Event event;
      event.kind = "background_error";
      event.reason = BackgroundErrorReasonName(reason);
      if (status) event.detail = status->ToString();
      events_->Add(std::move(event));
    });
  }

  void OnColumnFamilyHandleDeletionStarted(rocksdb::ColumnFamilyHandle* handle) override {
    if (!events_->InThisProcess()) return;  // not skipped at process exit: our calls may use the handle
    column_families_->HandleDeleted(handle);
  }

 private:
  template <typename Action>
  void Record(const std::string& column_family, Action action) noexcept {
    if (!events_->active()) return;
    try {
      action();
      if (!column_family.empty()) column_families_->Active(column_family);
    } catch (...) {
      // Out of memory: the host matters more than our record.
    }
  }

  static Event FlushEvent(const char* kind, const rocksdb::FlushJobInfo& info) {
    Event event;
    event.kind = kind;
    event.column_family = info.cf_name;
    event.job = info.job_id;
    event.reason = FlushReasonName(info.flush_reason);
    return event;
  }

  static Event CompactionEvent(const char* kind, const rocksdb::CompactionJobInfo& info) {
    Event event;
    event.kind = kind;
    event.column_family = info.cf_name;
    event.job = info.job_id;
    event.reason = CompactionReasonName(info.compaction_reason);
    event.base_level = info.base_input_level;
    event.output_level = info.output_level;
    return event;
  }

  const std::shared_ptr<SessionEvents> events_;
  const std::shared_ptr<ColumnFamilies> column_families_;
};

}  // namespace

std::shared_ptr<rocksdb::EventListener> MakeListener(std::shared_ptr<SessionEvents> events,
                                                     std::shared_ptr<ColumnFamilies> column_families) {
  return std::make_shared<Listener>(std::move(events), std::move(column_families));
}

void RemoveOurListeners(std::vector<std::shared_ptr<rocksdb::EventListener>>* listeners) {
  const std::lock_guard<std::mutex> lock(g_process_mutex);
  const auto ours = [](const std::shared_ptr<rocksdb::EventListener>& listener) {
    return Ours().count(listener.get()) > 0;
  };
  listeners->erase(std::remove_if(listeners->begin(), listeners->end(), ours), listeners->end());
}

}  // namespace adocd
