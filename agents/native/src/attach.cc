#include "attach.h"

#include <atomic>
#include <dlfcn.h>
#include <mutex>
#include <set>

#include "agent.h"
#include "environment.h"
#include "real_rocksdb.h"
#include "rebind.h"
#include "symbols.h"
#include "write_timing.h"

namespace adocd::attach {
namespace {

enum class State { kNotAttached, kBegun, kAdopted, kEnding };

std::atomic<State> g_state{State::kNotAttached};
// Held while a database is adopted, and while the agent ends: a close that begins meanwhile waits for it. It then finds
// the session, or no agent that still uses the database.
std::mutex g_mutex;

// The databases that began to close since Begin. Never destroyed: the process may end on any thread.
std::set<const void*>& Left() {
  static auto* left = new std::set<const void*>;
  return *left;
}

std::string AdoptOne(Agent& agent, rocksdb::DB* db) {
  if (Left().count(db)) return "it was closed meanwhile";
  if (agent.registry().Find(db).session) return "";  // opened since Begin, at the place of one that was proven
  OpenParts parts;
  parts.events = std::make_shared<SessionEvents>();
  parts.column_families = std::make_shared<ColumnFamilies>();
  parts.own_handle = [db](uint32_t id) { return real::FamilyHandle()(db, id); };
  if (Agent::TimesWrites() == "sampled") parts.write_latency = write_timing::Begin(db);
  try {
    agent.Observe(std::make_shared<Session>(db, std::vector<rocksdb::ColumnFamilyHandle*>{}, std::move(parts)));
  } catch (const std::exception& error) {
    write_timing::End(db);
    return error.what();
  }
  return "";
}

}  // namespace

std::string Begin(const std::string& librocksdb, std::map<std::string, std::string> environment) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (g_state.load() != State::kNotAttached || Agent::Running()) return "an agent is in this process already";
  void* library = dlopen(librocksdb.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (!library) return librocksdb + " is not loaded";
  ReplaceEnvironment(std::move(environment));
  Agent::MayReturn();
  real::LookIn(library);
  std::string reason;
  if (!real::Find(ADOCD_FAMILY_HANDLE)) return "this librocksdb cannot make handles of column families by their number";
  if (!Agent::Wanted(&reason)) return reason;
  Left().clear();
  g_state.store(State::kBegun);
  rebind::Do();
  if (Agent::Start()) return "";
  rebind::Undo();
  g_state.store(State::kNotAttached);
  return "the agent could not start; it says why on the program's standard error";
}

std::map<uintptr_t, std::string> Adopt(const std::vector<uintptr_t>& databases) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  std::map<uintptr_t, std::string> left_alone;
  Agent* agent = Agent::Running();
  for (const uintptr_t address : databases) {
    const std::string reason = agent && g_state.load() == State::kBegun
                                   ? AdoptOne(*agent, reinterpret_cast<rocksdb::DB*>(address))
                                   : "the agent has not begun";
    if (!reason.empty()) left_alone[address] = reason;
  }
  g_state.store(State::kAdopted);
  Left().clear();
  return left_alone;
}

std::string End() {
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (g_state.load() == State::kNotAttached) return "no agent was attached to this process";
  g_state.store(State::kEnding);
  // Before the calls are put back: closes must wait for it, and requests of a limiter whose rate comes down be bounded.
  Agent::End();
  rebind::Undo();
  g_state.store(State::kNotAttached);
  return "";
}

void Forked() noexcept {
  new (&g_mutex) std::mutex;  // another thread may have held it
  if (g_state.load() != State::kNotAttached) g_state.store(State::kAdopted);
}

void Leaving(const void* db) noexcept {
  const State state = g_state.load(std::memory_order_acquire);
  if (state != State::kBegun && state != State::kEnding) return;
  try {
    const std::lock_guard<std::mutex> lock(g_mutex);
    if (g_state.load() == State::kBegun) Left().insert(db);
  } catch (...) {
    // Out of memory: whoever adopts this database would use it after its end.
    g_state.store(State::kAdopted);
  }
}

}  // namespace adocd::attach
