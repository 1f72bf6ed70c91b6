#include "agent_hooks.h"

#include "agent.h"
#include "attach.h"
#include "options_added.h"
#include "write_timing.h"

namespace adocd::hooks {
namespace {

// Runs `action` on the open database `db`, if the agent knows it.
template <typename Action>
void With(const void* db, Action action) noexcept {
  Agent* agent = Agent::Running();
  if (!agent) return;
  try {
    const OpenDatabase database = agent->registry().Find(db);
    if (database.session) action(*agent, database);
  } catch (...) {
    // Out of memory: the host must continue.
  }
}

// Whether RocksDB has no column family with this number any more.
bool IsGone(const void* db, uint32_t id) {
  return real::FamilyHandle() && !real::FamilyHandle()(const_cast<void*>(db), id);
}

}  // namespace

std::unique_ptr<OpenInProgress> PrepareOpen(const rocksdb::DBOptions& host_options) noexcept {
  try {
    std::string reason;
    if (!Agent::Wanted(&reason)) return nullptr;
    auto open = std::make_unique<OpenInProgress>();
    open->options = host_options;
    AddOptions(open.get());
    return open;
  } catch (...) {
    return nullptr;
  }
}

void Opened(OpenInProgress& open, rocksdb::DB* db,
            const std::vector<rocksdb::ColumnFamilyHandle*>& handles) noexcept {
  try {
    const auto events = open.parts.events;
    Agent* agent = Agent::Start();
    if (!agent) return events->Deactivate();
    if (Agent::TimesWrites() == "sampled") open.parts.write_latency = write_timing::Begin(db);
    agent->Observe(std::make_shared<Session>(db, handles, std::move(open.parts)));
  } catch (const std::exception& error) {
    write_timing::End(db);
    Agent::GiveUp(std::string("cannot observe a database: ") + error.what());
  }
}

void Closing(const void* db) noexcept {
  attach::Leaving(db);
  With(db, [db](Agent& agent, const OpenDatabase&) {
    const OpenDatabase database = agent.registry().Remove(db);
    if (!database.session) return;
    write_timing::End(db);
    agent.LetGo(database);
  });
  attach::Leaving(db);  // a detach that began meanwhile may still be using it
}

void Pausing(const void* db) noexcept {
  attach::Leaving(db);
  With(db, [](Agent&, const OpenDatabase& database) {
    database.session->gate.CloseAndWait();
    database.session->GiveUpOwnHandles();
  });
  attach::Leaving(db);
}

void Resuming(const void* db) noexcept {
  With(db, [](Agent&, const OpenDatabase& database) {
    database.session->TakeOwnHandles();
    database.session->gate.Reopen();
  });
}

void Created(const void* db, rocksdb::ColumnFamilyHandle* handle) noexcept {
  With(db, [handle](Agent&, const OpenDatabase& database) {
    const GateUse use(database.session->gate);
    if (use && handle) database.session->AddColumnFamily(handle);
  });
}

void Created(const void* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles) noexcept {
  for (auto* handle : handles) Created(db, handle);
}

Drop::Drop(const void* db, rocksdb::ColumnFamilyHandle* const* handles, size_t count) noexcept
    : db_(db), handles_(handles), count_(count) {
  With(db, [this](Agent&, const OpenDatabase& database) {
    session_ = database.session;
    for (size_t i = 0; i < count_; ++i) {
      if (handles_[i]) session_->column_families->Dropping(handles_[i]->GetID());
    }
  });
}

Drop::~Drop() {
  for (size_t i = 0; session_ && i < count_; ++i) {
    if (!handles_[i]) continue;
    const uint32_t id = handles_[i]->GetID();
    try {
      if (succeeded_ || IsGone(db_, id)) {
        session_->ColumnFamilyDropped(id);
        continue;
      }
    } catch (...) {
      // Out of memory: the host must continue, and so must a change that waits.
    }
    session_->column_families->NotDropped(id);
  }
}

OptionCall::OptionCall(const void* db, rocksdb::ColumnFamilyHandle* handle) noexcept : handle_(handle) {
  With(db, [this](Agent&, const OpenDatabase& database) {
    session_ = database.session;
    ++session_->option_calls_in_flight;
  });
}

OptionCall::~OptionCall() {
  if (!session_) return;
  if (handle_) {
    session_->column_families->OptionsChanged(handle_->GetID());
  } else {
    ++session_->database_options_version;
  }
  --session_->option_calls_in_flight;
}

void FamilyOptionsSet(const void* db, rocksdb::ColumnFamilyHandle* handle, const real::TextMap& options) noexcept {
  With(db, [&](Agent&, const OpenDatabase& database) {
    // TransactionDB::Open opens each column family with automatic compaction off, and before it returns switches it on
    // where the host wants it: at the end of DBImpl::Open the agent has seen the wrong value.
    const auto found = options.find("disable_auto_compactions");
    if (!handle || found == options.end()) return;
    database.session->control.SetByHost({Scope::kColumnFamily, handle->GetName(), found->first}, found->second);
  });
}

}  // namespace adocd::hooks
