#include "agent.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "attach.h"
#include "build_id.h"
#include "environment.h"
#include "exec_report.h"
#include "fork_generation.h"
#include "open_sockets.h"
#include "options_added.h"
#include "rate_requests.h"
#include "real_rocksdb.h"
#include "standard_error.h"
#include "write_timing.h"

namespace adocd {
namespace {

enum class State { kUndecided, kWanted, kOff, kFailed, kLeft, kEnded };

std::atomic<Agent*> g_agent{nullptr};
std::atomic<State> g_state{State::kUndecided};
std::once_flag g_process_handlers;
// Held while the agent starts; not across forks (Start runs inside the host's open).
std::mutex g_start_mutex;
// In-flight database calls get this long at process exit; longer would hang a host that exits during a stall.
constexpr auto kExitPatience = std::chrono::seconds(2);

std::string ProgramName() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return program_invocation_short_name;
  const std::string text(path, static_cast<size_t>(length));
  return text.substr(text.rfind('/') + 1);
}

State Decide(std::string* reason) {
  if (EnvironmentText("ADOCD_AGENT") == "off") {
    *reason = "switched off by ADOCD_AGENT=off";
    return State::kOff;
  }
  std::string file;
  const void* open = real::FindOpen();
  if (!open) {
    *reason = "librocksdb does not come after the agent's library; link with -ladocd_agent before -lrocksdb";
    return State::kFailed;
  }
  const std::string running = BuildIdAt(open, &file);
  if (running != ADOCD_ROCKSDB_BUILD_ID) {
    *reason = file + " has build id " + (running.empty() ? "(none)" : running) +
              ", but this agent was built for " ADOCD_ROCKSDB_BUILD_ID "; not observing this process";
    return State::kFailed;
  }
  if (!CheckAddedOptions(reason)) return State::kFailed;
  return State::kWanted;
}

void Say(const std::string& line) { SayOnStandardError("adocd agent: " + line + "\n"); }

}  // namespace

Agent* Agent::Running() { return g_agent.load(std::memory_order_acquire); }

bool Agent::Wanted(std::string* reason) {
  const State state = g_state.load();
  if (state == State::kWanted) return true;
  if (state != State::kUndecided) {
    *reason = state == State::kOff ? "switched off by ADOCD_AGENT=off" : "the agent could not start";
    return false;
  }
  const State decided = Decide(reason);
  State expected = State::kUndecided;
  if (g_state.compare_exchange_strong(expected, decided) && decided == State::kFailed) Say(*reason);
  return g_state.load() == State::kWanted;
}

std::string Agent::TimesWrites() {
  if (write_timing::Wish() == "off") return "off";
  return real::HasWrite() ? "sampled" : "none";
}

void Agent::GiveUp(const std::string& reason) {
  State expected = State::kWanted;
  if (g_state.compare_exchange_strong(expected, State::kFailed)) Say(reason);
}

Agent* Agent::Start() {
  const std::lock_guard<std::mutex> lock(g_start_mutex);
  if (g_state.load() != State::kWanted) return nullptr;
  if (Agent* running = Running()) return running;
  std::string error;
  try {
    AllowList allow(EnvironmentText("ADOCD_ALLOW_UIDS"), &error);
    const std::string directory = error.empty() ? FindRunDirectory(&error) : "";
    const ListeningSocket socket = error.empty() ? Listen(directory, &error) : ListeningSocket{};
    if (error.empty()) {
      std::call_once(g_process_handlers, [] {
        pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);
        std::atexit(AtExit);
      });
      try {
        auto* agent = new Agent(socket, std::move(allow));
        agent->sampler_.Start();
        agent->server_->Start(socket.fd);
        g_agent.store(agent, std::memory_order_release);
      } catch (...) {
        unlink(socket.path.c_str());
        open_sockets::Remove(open_sockets::Identify(socket.fd));
        close(socket.fd);
        throw;
      }
      NoteOpened();
      return Running();
    }
  } catch (const std::exception& failure) {
    error = std::string("cannot start: ") + failure.what();
  }
  GiveUp(error);
  return nullptr;
}

Agent::Agent(ListeningSocket socket, AllowList allow) : socket_(std::move(socket)), allow_(std::move(allow)) {
  server_ = std::make_unique<Server>(
      [this](const HttpRequest& request, Reply reply) { api_->Handle(request, std::move(reply)); },
      [this](unsigned uid) { return allow_.Allows(uid); });
  ProcessInfo process;
  std::string file;
  process.rocksdb_build_id = BuildIdAt(reinterpret_cast<const void*>(real::Open()), &file);
  process.host = HostName();
  process.program = ProgramName();
  process.user = NameOfUid(geteuid());
  process.pid = static_cast<int>(getpid());
  process.write_latency = TimesWrites();
  process.added_statistics = AddedStatisticsLevel();
  api_ = std::make_unique<Api>(std::move(process), &registry_, &sampler_, server_.get());
}

void Agent::Observe(const std::shared_ptr<Session>& session) {
  const auto limiter = session->db()->GetDBOptions().rate_limiter;
  if (session->attached()) sampler_.Watch(session);
  registry_.Add(session->db(), {session, std::make_shared<Applier>(session)});
  sampler_.Watch(limiter, session->events);
}

void Agent::LetGo(const OpenDatabase& database) {
  database.session->LetGo();
  database.session->events->Deactivate();
  database.applier->Stop();
}

void Agent::Stop() {
  unlink(socket_.path.c_str());
  const auto databases = registry_.All();
  for (const auto& database : databases) {
    database.applier->Stop();
    database.session->gate.CloseForGood();
    database.session->events->Deactivate();
  }
  const auto deadline = std::chrono::steady_clock::now() + kExitPatience;
  for (const auto& database : databases) database.session->gate.WaitUntil(deadline);
  server_->Stop();
}

void Agent::MayReturn() {
  State expected = State::kLeft;
  g_state.compare_exchange_strong(expected, State::kUndecided);
}

void Agent::End() {
  const std::lock_guard<std::mutex> lock(g_start_mutex);
  Agent* running = Running();
  if (!running) return;
  State before = g_state.load();
  while (before != State::kEnded && !g_state.compare_exchange_weak(before, State::kLeft)) {
  }
  // Never deleted: a thread of the host's may be in one of our functions, and is about to ask it for a database.
  g_agent.store(nullptr, std::memory_order_release);
  unlink(running->socket_.path.c_str());
  for (const auto& database : running->registry_.All()) {
    const void* db = database.session->db();
    running->registry_.Remove(db);
    write_timing::End(db);
    running->LetGo(database);
  }
  running->server_->Stop();
  running->server_->CloseSockets();
  running->sampler_.Stop();
}

void Agent::AtExit() {
  g_state.store(State::kEnded);
  // g_agent stays set: a database that is destroyed after this must still wait for our calls inside it.
  if (Agent* agent = Running()) agent->Stop();
}

void Agent::BeforeFork() { g_process_mutex.lock(); }

void Agent::AfterForkInParent() { g_process_mutex.unlock(); }

// The child has none of our threads and must not touch the parent's socket. It leaks what the agent owned, because
// threads that do not exist here may hold its locks. An open in the child starts a new agent.
void Agent::AfterForkInChild() {
  g_fork_generation.fetch_add(1);
  g_agent.store(nullptr);
  new (&g_start_mutex) std::mutex;  // another thread may have held it
  attach::Forked();
  rate_requests::Forked();
  open_sockets::CloseAllLocked();
  g_process_mutex.unlock();
}

}  // namespace adocd
