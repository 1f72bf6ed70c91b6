// Lease, restore plan, originals, stall condition, query, request bodies, option values, column family statistics,
// histograms, latency, standard error and signals: values in, values out, time as an argument. Exit status 1 and a line
// for each expectation that failed.
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <rocksdb/rate_limiter.h>
#include <rocksdb/statistics.h>

#include "cf_stats.h"
#include "control.h"
#include "histograms.h"
#include "host_safety.h"
#include "lease.h"
#include "limiter_watch.h"
#include "option_catalogue.h"
#include "option_text.h"
#include "originals.h"
#include "query.h"
#include "request_json.h"
#include "restore.h"
#include "server.h"
#include "session.h"
#include "stall_tracker.h"
#include "standard_error.h"
#include "thread.h"
#include "write_timing.h"

namespace {

int g_failures = 0;
thread_local bool g_no_memory = false;

#define EXPECT(condition)                                                 \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      ++g_failures;                                                       \
    }                                                                     \
  } while (false)

using namespace adocd;

template <typename T>
std::string CodeOf(const std::variant<T, Problem>& result) {
  const auto* problem = std::get_if<Problem>(&result);
  return problem ? problem->code : "";
}

std::string CodeOf(const std::optional<Problem>& problem) { return problem ? problem->code : ""; }

void TestLease() {
  LeaseBook book;
  EXPECT(CodeOf(book.Check("a", 1)) == "lease_required");
  EXPECT(CodeOf(book.Hold("a", 1, 5, 0)) == "lease_lost");  // names an epoch that never was
  EXPECT(CodeOf(book.Hold("a", std::nullopt, 5, 0)) == "");
  EXPECT(book.current()->epoch == 1);
  EXPECT(CodeOf(book.Hold("b", std::nullopt, 5, 1)) == "lease_held");
  EXPECT(CodeOf(book.Hold("a", 1, 5, 4)) == "");
  EXPECT(!book.ExpireIfDue(8.9));
  EXPECT(CodeOf(book.Check("b", 1)) == "lease_held");
  EXPECT(CodeOf(book.Check("a", 2)) == "lease_lost");
  EXPECT(CodeOf(book.Release("b", std::nullopt, false)) == "lease_held");
  EXPECT(CodeOf(book.Release("a", 7, false)) == "lease_lost");
  EXPECT(book.ExpireIfDue(9).has_value());
  EXPECT(CodeOf(book.Check("a", 1)) == "lease_lost");
  EXPECT(CodeOf(book.Hold("a", 1, 5, 10)) == "lease_lost");
  EXPECT(CodeOf(book.Hold("b", std::nullopt, 5, 10)) == "");
  EXPECT(book.current()->epoch == 2);
  EXPECT(CodeOf(book.Hold("a", 1, 5, 10)) == "lease_lost");  // the former holder learns it, whoever holds now
  EXPECT(std::get<LeaseBook::Ended>(book.Release(std::nullopt, std::nullopt, true)) == LeaseBook::Ended::kRevoked);
  EXPECT(std::get<LeaseBook::Ended>(book.Release("a", 1, false)) == LeaseBook::Ended::kNobodyHeld);
}

Change FamilyChange(const char* name, const char* value) {
  Change change;
  change.scope = Scope::kColumnFamily;
  change.column_family = "default";
  change.options[name] = value;
  return change;
}

void TestOriginals() {
  Originals originals;
  bool open = true;
  const auto is_open = [&](const std::string&) { return open; };
  const OptionKey size{Scope::kColumnFamily, "default", "write_buffer_size"};
  originals.Record(size, "64");
  originals.Record(size, "32");  // listed again, with our value in force
  EXPECT(originals.values().at(size) == "64");
  const Change change = FamilyChange("write_buffer_size", "32");
  EXPECT(originals.FirstUncovered({}, {change}, is_open).has_value());
  EXPECT(!originals.FirstUncovered({{std::nullopt, FamilyChange("write_buffer_size", "64")}}, {change}, is_open));
  originals.Observe(size, "32");
  EXPECT(originals.FirstUncovered({}, {}, is_open).has_value());
  originals.Observe(size, "64");
  EXPECT(!originals.FirstUncovered({}, {}, is_open));
  originals.Observe(size, std::nullopt);  // an error means unknown
  EXPECT(originals.FirstUncovered({}, {}, is_open).has_value());
  originals.Observe(size, "32");
  originals.Adopt();
  EXPECT(!originals.FirstUncovered({}, {}, is_open) && originals.values().at(size) == "32");
  originals.Observe(size, "16");
  open = false;  // its handle was deleted
  EXPECT(!originals.FirstUncovered({}, {}, is_open));
  open = true;
  EXPECT(originals.FirstUncovered({}, {}, is_open).has_value());
  originals.ForgetColumnFamily("default");
  originals.Observe(size, "16");  // our call returns after the drop
  EXPECT(!originals.FirstUncovered({}, {}, is_open));
  const OptionKey threads{Scope::kThreadPool, "low", kThreadsKey};
  originals.Record(threads, "1");
  EXPECT(originals.ChangedOutsideDatabase().empty());
  originals.Observe(threads, "4");
  const auto outside = originals.ChangedOutsideDatabase();
  EXPECT(outside.size() == 1 && outside[0].original == "1" && outside[0].written == "4");
}

void TestOriginalsOfTheOwner() {
  Originals originals;
  const auto is_open = [](const std::string&) { return true; };
  const OptionKey off{Scope::kColumnFamily, "default", "disable_auto_compactions"};
  originals.Record(off, "true");
  originals.SetByOwner(off, "false");  // what TransactionDB::Open does after the agent has seen the open
  EXPECT(originals.values().at(off) == "false");
  originals.Observe(off, "true");
  EXPECT(originals.FirstUncovered({}, {}, is_open).has_value());
  originals.SetByOwner(off, "true");  // it is what our lease has set
  EXPECT(originals.values().at(off) == "false");
  originals.Observe(off, "false");
  EXPECT(!originals.FirstUncovered({}, {}, is_open));
  originals.SetByOwner(off, "true");  // the owner again: nothing of ours is in force
  EXPECT(originals.values().at(off) == "true");
  originals.ForgetColumnFamily("default");
  originals.SetByOwner(off, "false");
  EXPECT(originals.values().empty());
}

// What outlives the database keeps what we give it, so that another value in between is the owner's.
void TestOriginalsOfALimiterThatItsOwnerTurns() {
  for (const OptionKey& key : {OptionKey{Scope::kRateLimiter, "", kLimiterKey}, {Scope::kThreadPool, "low", kThreadsKey}}) {
    Originals originals;
    originals.Record(key, "100");
    originals.SetByOwner(key, "100");
    originals.Observe(key, "40");
    originals.SetByOwner(key, "40");
    originals.Observe(key, "50");
    auto outside = originals.ChangedOutsideDatabase();
    EXPECT(outside.size() == 1 && outside[0].original == "100" && outside[0].written == "50");
    originals.SetByOwner(key, "200");  // a plan is renewed with what the owner has set meanwhile
    originals.Observe(key, "200");
    EXPECT(originals.ChangedOutsideDatabase().empty() && originals.values().at(key) == "200");
    originals.Observe(key, "40");
    originals.SetByOwner(key, "300");
    originals.Observe(key, "60");
    outside = originals.ChangedOutsideDatabase();
    EXPECT(outside.size() == 1 && outside[0].original == "300" && outside[0].written == "60");
    originals.Observe(key, std::nullopt);  // an error means unknown
    originals.SetByOwner(key, "60");
    EXPECT(originals.values().at(key) == "300");
  }
}

// The steps before a lease changes an option, as the agent meets them.
void TestControlTakesWhatItFinds() {
  SessionEvents events;
  ColumnFamilies families;
  int host = 0;
  families.Add("default", 0, reinterpret_cast<rocksdb::ColumnFamilyHandle*>(&host));
  Control control(&events, &families);
  const OptionKey size{Scope::kColumnFamily, "default", "write_buffer_size"};
  control.RecordOriginal(size, "64");
  control.SetByHost(size, "1");
  EXPECT(control.OriginalsOf(Scope::kColumnFamily, "default").at("write_buffer_size") == "1");
  EXPECT(CodeOf(control.Hold("h", std::nullopt, 5, 0)) == "");
  control.SetByHost(size, "2");  // may be the agent's own call by now
  EXPECT(control.OriginalsOf(Scope::kColumnFamily, "default").at("write_buffer_size") == "1");
  const Change change = FamilyChange("write_buffer_size", "64");
  const RestorePlan plan{{std::nullopt, FamilyChange("write_buffer_size", "2")}};
  EXPECT(CodeOf(control.AcceptChange("h", 1, {change}, plan, 1)) == "");
  StepResult result;
  result.outcome = StepResult::Outcome::kApplied;
  result.before = {{"write_buffer_size", "2"}};
  result.read_back = {{"write_buffer_size", "64"}};
  control.StepExecuted(change, result);
  EXPECT(control.OriginalsOf(Scope::kColumnFamily, "default").at("write_buffer_size") == "2");
  EXPECT(CodeOf(control.AcceptChange("h", 1, {}, {}, 1)) == "plan_incomplete");
}

// A lease that ends while the host has no memory left: its events may be lost, its restore may not.
void TestRestoreWithoutMemory() {
  SessionEvents events;
  ColumnFamilies families;
  Control control(&events, &families);
  const std::string holder = "whose name is longer than what a string keeps inside itself";
  EXPECT(CodeOf(control.Hold(holder, std::nullopt, 5, 0)) == "");
  const RestorePlan plan{{std::nullopt, FamilyChange("write_buffer_size", "64")}};
  EXPECT(CodeOf(control.AcceptChange(holder, 1, {FamilyChange("write_buffer_size", "32")}, plan, 1)) == "");
  const uint64_t before = events.last_sequence();
  bool begun = false;
  std::optional<double> left_s;
  g_no_memory = true;
  try {
    left_s = control.LeaseLeftSeconds(4);
    if (!control.LeaseLeftSeconds(6)) begun = control.ExpireIfDue(6);
  } catch (const std::bad_alloc&) {
  }
  g_no_memory = false;
  EXPECT(left_s == 1.0);
  EXPECT(begun && control.Status(6).restore.state == std::string("running"));
  EXPECT(events.last_sequence() == before);
  Event next;
  next.kind = "flush_begin";
  events.Add(next);
  uint64_t lost = 0;
  EXPECT(events.After(before, &lost).size() == 1 && lost == 0);
}

void TestRestore() {
  Restore restore;
  EXPECT(std::string(restore.Status().state) == "none" && !restore.Begin());
  restore.Arm({{std::nullopt, FamilyChange("a", "1")}, {std::nullopt, FamilyChange("b", "2")}});
  EXPECT(std::string(restore.Status().state) == "armed" && !restore.Next());
  EXPECT(restore.Begin() && restore.Next());
  restore.WaitFor("something");
  EXPECT(std::string(restore.Status().state) == "waiting");
  EXPECT(!restore.StepDone(std::string("failed")));
  EXPECT(std::string(restore.Status().state) == "running" && restore.Status().steps_left == 1);
  restore.Interrupt();
  EXPECT(std::string(restore.Status().state) == "armed" && !restore.Next());
  EXPECT(restore.Begin());
  EXPECT(restore.StepDone(std::nullopt));
  EXPECT(std::string(restore.Status().state) == "done" && restore.Status().errors.empty());
  restore.Drop();
  EXPECT(std::string(restore.Status().state) == "none");
  restore.Arm({{Condition{"default", "files", 1}, FamilyChange("a", "1")}});
  restore.ForgetColumnFamily("default");
  EXPECT(restore.Begin() && restore.Next()->target_dropped && !restore.Next()->when);
}

// A release that keeps the new values, while a change is in flight: what that sets is kept, too.
void TestChangeInFlightIsAdopted() {
  SessionEvents events;
  ColumnFamilies families;
  int host = 0;
  families.Add("default", 0, reinterpret_cast<rocksdb::ColumnFamilyHandle*>(&host));
  Control control(&events, &families);
  const OptionKey size{Scope::kColumnFamily, "default", "write_buffer_size"};
  control.RecordOriginal(size, "64");
  EXPECT(CodeOf(control.Hold("h", std::nullopt, 5, 0)) == "");
  const Change change = FamilyChange("write_buffer_size", "32");
  const RestorePlan plan{{std::nullopt, FamilyChange("write_buffer_size", "64")}};
  control.ChangeQueued();
  EXPECT(CodeOf(control.AcceptChange("h", 1, {change}, plan, 1)) == "");
  bool begins_restore = true;
  EXPECT(CodeOf(control.Release("h", 1, false, false, &begins_restore)) == "");
  EXPECT(!begins_restore);
  StepResult result;
  result.outcome = StepResult::Outcome::kApplied;
  result.before = {{"write_buffer_size", "64"}};
  result.read_back = {{"write_buffer_size", "32"}};
  control.StepExecuted(change, result);
  control.ChangeFinished();
  EXPECT(control.OriginalsOf(Scope::kColumnFamily, "default").at("write_buffer_size") == "32");
  EXPECT(CodeOf(control.Hold("h", std::nullopt, 5, 0)) == "");
  EXPECT(CodeOf(control.AcceptChange("h", 2, {}, {}, 1)) == "");  // nothing that its plan would have to name
}

int Listening(const sockaddr_un& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  EXPECT(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && listen(fd, 8) == 0);
  return fd;
}

int Connected(const sockaddr_un& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{10, 0};  // so that a server that is deaf fails the test
  EXPECT(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
  EXPECT(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

// A client comes while the host has no memory left: it is lost, the timers fire, and the next client is served.
void TestServerWithoutMemory() {
  char directory[] = "/tmp/adocd-unit-XXXXXX";
  EXPECT(mkdtemp(directory) != nullptr);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", directory);
  int clients = 0;
  // A stranger is closed without a request; so both clients see an end, the second one after its answer.
  Server server([](const HttpRequest&, Reply) {}, [&clients](unsigned) {
    g_no_memory = ++clients == 1;  // on the server's thread
    return false;
  });
  server.Start(Listening(address));
  const int lost = Connected(address);
  char byte = 0;
  EXPECT(read(lost, &byte, 1) == 0);
  server.Post([] { g_no_memory = false; });
  const int served = Connected(address);
  EXPECT(read(served, &byte, 1) == 1 && byte == 'H');  // HTTP/1.1 403
  server.Stop();
  server.CloseSockets();
  close(lost);
  close(served);
  unlink(address.sun_path);
  rmdir(directory);
}

void TestStall() {
  using C = StallCondition;
  StallTracker stall(100);
  stall.Changed("x", C::kNormal, C::kDelayed, 101);
  stall.Changed("y", C::kNormal, C::kStopped, 102);
  EXPECT(stall.Totals(104).condition == C::kStopped && stall.Totals(104).stopped_s == 2);
  EXPECT(stall.Totals(104).delayed_s == 1);
  stall.Dropped("y", 105);
  EXPECT(stall.Totals(106).condition == C::kDelayed && stall.Totals(106).delayed_s == 2);
  stall.Changed("y", C::kStopped, C::kNormal, 106);  // a late report about what was dropped
  stall.Changed("x", C::kStopped, C::kNormal, 107);  // out of order: this before the next
  stall.Changed("x", C::kDelayed, C::kStopped, 107);
  EXPECT(stall.Totals(108).condition == C::kNormal && stall.Totals(108).stopped_s == 3);
  stall.Sampled(C::kStopped, 110);  // events are late; without further samples this counts for 2 s
  EXPECT(stall.Totals(111).condition == C::kStopped && stall.Totals(111).stopped_s == 4);
  EXPECT(stall.Totals(120).condition == C::kNormal && stall.Totals(120).stopped_s == 5);
  stall.Changed("x", C::kNormal, C::kDelayed, 130);
  stall.Sampled(C::kNormal, 131);
  EXPECT(stall.Totals(131).condition == C::kDelayed);
  stall.Sampled(C::kNormal, 132);  // twice: an event was missed
  EXPECT(stall.Totals(132).condition == C::kNormal);
}

void TestAwait() {
  SessionEvents events;
  int woken = 0;
  const auto wake = [&] { ++woken; };
  Event flush;
  flush.kind = "flush_begin";
  events.Await(0, kMemtableEvents, wake);
  events.MemtableSealed("x", 10);
  events.MemtableSealed("y", 20);
  events.StallChanged("x", StallCondition::kNormal, StallCondition::kDelayed);
  events.Add(flush);
  EXPECT(woken == 0);  // one memtable waits in each column family, and nobody waits for stalls
  events.MemtableSealed("x", 30);
  events.MemtableSealed("x", 40);
  EXPECT(woken == 1);  // once
  const uint64_t last = events.last_sequence();
  events.Await(last - 1, kMemtableEvents, wake);
  EXPECT(woken == 2);  // it is there already
  Event flushed;
  flushed.kind = "flush_end";
  flushed.column_family = "x";
  events.FlushEnded(flushed, "", 39);
  events.Await(last, kStallEvents | kMemtableEvents, wake);
  events.MemtableSealed("y", 50);
  EXPECT(woken == 3);
  events.FlushEnded(flushed, "", 40);
  events.EndWait(events.Await(events.last_sequence(), kMemtableEvents, wake));
  events.MemtableSealed("x", 60);
  events.Await(events.last_sequence(), kMemtableEvents, wake);
  EXPECT(woken == 3);  // its flush is over, so one waits
  events.Deactivate();
  EXPECT(woken == 4);
  events.Await(events.last_sequence(), kMemtableEvents, wake);
  EXPECT(woken == 5);  // the session has ended
}

void TestGate() {
  Gate gate;
  gate.CloseAndWait();
  EXPECT(!gate.Enter());
  gate.Reopen();
  EXPECT(gate.Enter());
  gate.CloseForGood();
  gate.WaitUntil(std::chrono::steady_clock::now());  // somebody is inside
  gate.Leave();
  gate.Reopen();  // the process ends
  EXPECT(!gate.Enter());
}

void TestColumnFamilies() {
  int host = 0;
  auto* handle = reinterpret_cast<rocksdb::ColumnFamilyHandle*>(&host);
  ColumnFamilies families;
  families.Add("one", 1, handle);
  families.Add("one", 1, handle);
  EXPECT(families.Names().size() == 1);
  families.HandleDeleted(handle);
  EXPECT(families.UseAll().empty());
}

// A change waits until it is known whether the column family is dropped; a look does not.
void TestChangeWaitsForADrop() {
  for (const bool is_dropped : {true, false}) {
    int host = 0;
    ColumnFamilies families;
    families.Add("one", 1, reinterpret_cast<rocksdb::ColumnFamilyHandle*>(&host));
    families.Dropping(1);
    EXPECT(families.Use("one") && families.Has("one") && families.UseAll().size() == 1);
    EXPECT(!families.UseToChange("two"));
    std::atomic<bool> asked{false}, is_decided{false}, was_early{false}, may_change{false};
    std::thread changer([&] {
      asked = true;
      const auto use = families.UseToChange("one");
      was_early = !is_decided;
      may_change = static_cast<bool>(use);
    });
    while (!asked) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that one that does not wait is early
    is_decided = true;
    if (is_dropped) {
      EXPECT(families.Dropped(1) == "one");
    } else {
      families.NotDropped(1);
    }
    changer.join();
    EXPECT(!was_early && may_change == !is_dropped);
  }
}

void TestLimiterWatch() {
  constexpr int64_t kRate = 1000, kRefillUs = 3'000'000, kBurst = 3000;
  std::shared_ptr<rocksdb::RateLimiter> limiter(rocksdb::NewGenericRateLimiter(kRate, kRefillUs));
  LimiterWatch watch(limiter);
  const auto events = std::make_shared<SessionEvents>(), other = std::make_shared<SessionEvents>();
  const auto closed = std::make_shared<SessionEvents>();
  for (const auto& each : {events, other, closed}) watch.Tell(each);
  closed->Deactivate();
  std::vector<LimiterWatch::Stuck> stuck;
  const auto look = [&](int from, int to) {
    for (int second = from; second <= to; ++second) EXPECT(watch.Look(second, &stuck));
  };
  const auto waiting = [&] {
    int64_t count = 0;
    limiter->GetTotalPendingRequests(&count);
    return count;
  };
  look(1, 1);
  // The second one waits for the next refill, which is nothing to wake anybody for.
  std::thread requests([&] {
    for (int i = 0; i < 2; ++i) {
      limiter->Request(kBurst, rocksdb::Env::IO_LOW, nullptr, rocksdb::RateLimiter::OpType::kWrite);
    }
  });
  while (waiting() == 0) std::this_thread::yield();
  look(2, 10);
  EXPECT(stuck.empty());
  // The request that waits is as large as the rate was, so it takes twice as long now.
  limiter->SetBytesPerSecond(kRate / 2);
  look(11, 16);
  EXPECT(stuck.empty());
  look(17, 17);
  EXPECT(stuck.size() == 1);
  for (const auto& each : stuck) LimiterWatch::Wake(each);
  for (const auto& each : {events, other}) {
    uint64_t lost = 0;
    EXPECT(each->last_sequence() == 1);
    for (const auto& told : each->After(0, &lost)) {
      EXPECT(told->kind == std::string("limiter_woken") && told->waiting == 1u && told->elapsed_s == 15.0);
    }
  }
  EXPECT(closed->last_sequence() == 0);
  // Our own request waits as well, and is seen once as a request.
  for (int ms = 0; ms < 1000 && waiting() == 1; ++ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  limiter->SetBytesPerSecond(3 * kRate);
  look(18, 27);
  EXPECT(stuck.size() == 1);
  look(28, 28);
  EXPECT(stuck.size() == 2);
  requests.join();

  LimiterWatch of_a_limiter_that_is_gone(std::shared_ptr<rocksdb::RateLimiter>(rocksdb::NewGenericRateLimiter(kRate)));
  EXPECT(!of_a_limiter_that_is_gone.Look(1, &stuck));
  EXPECT(watch.IsOf(limiter) && !of_a_limiter_that_is_gone.IsOf(limiter));
}

void TestQuery() {
  std::string path;
  std::map<std::string, std::string> query;
  EXPECT(SplitTarget("/v1/a%20b?x=1&y=a+b&z&=q", &path, &query));
  EXPECT(path == "/v1/a b" && query["x"] == "1" && query["y"] == "a b" && query.count("z"));
  EXPECT(!SplitTarget("v1", &path, &query) && !SplitTarget("/%zz", &path, &query));
  EXPECT(ParseUnsigned("18446744073709551615") && !ParseUnsigned("18446744073709551616"));
  EXPECT(!ParseUnsigned("") && !ParseUnsigned("-1") && !ParseUnsigned("1x"));
}

void TestBodies() {
  EXPECT(std::get<Problem>(ParseLeaseRequest("{")).status == 400);
  EXPECT(std::get<Problem>(ParseLeaseRequest("{}")).status == 422);
  EXPECT(CodeOf(ParseLeaseRequest(R"({"holder":"h","ttl_s":1})")) == "");
  EXPECT(CodeOf(ParseLeaseRequest(R"({"holder":"h","ttl_s":1e999})")) == "bad_request");
  EXPECT(std::get<Problem>(ParseChangeRequest(std::string(100000, '['))).status == 400);
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT(std::get<Problem>(ParseChangeRequest(nested(16))).status == 422);
  EXPECT(std::get<Problem>(ParseChangeRequest(nested(17))).status == 400);
  EXPECT(CodeOf(ParseLeaseRequest(R"({"holder":"[[[[[[[[[[[[[[[[[[[[\"[[","ttl_s":1})")) == "");
  const std::string head = R"({"holder":"h","epoch":1,"restore_plan":[],"changes":[)";
  EXPECT(CodeOf(ParseChangeRequest(head + R"({"scope":"thread_pool","pool":"low","threads":2}]})")) == "");
  EXPECT(CodeOf(ParseChangeRequest(head + R"({"scope":"thread_pool","pool":"low","threads":0}]})")) == "bad_request");
  EXPECT(CodeOf(ParseChangeRequest(head + R"({"scope":"database","options":{"a":1}}]})")) == "bad_request");
  EXPECT(CodeOf(ParseChangeRequest(head + "]}")) == "bad_request");
  const auto waits = [](const char* below) {
    const std::string change = R"({"scope":"thread_pool","pool":"low","threads":2})";
    return ParseChangeRequest(R"({"holder":"h","epoch":1,"changes":[)" + change + R"(],"restore_plan":[{"change":)" + change +
                              R"(,"when":{"column_family":"default","property":"p","below":)" + below + "}}]}");
  };
  EXPECT(CodeOf(waits("1")) == "" && CodeOf(waits("0")) == "bad_request" && CodeOf(waits("-1")) == "bad_request");
  const std::string limiter = R"({"scope":"rate_limiter","bytes_per_s":1}])";
  EXPECT(!std::get<ChangeRequest>(ParseChangeRequest(head + limiter + "}")).repeat);
  EXPECT(std::get<ChangeRequest>(ParseChangeRequest(head + limiter + R"(,"repeat":true})")).repeat);
  EXPECT(!std::get<ChangeRequest>(ParseChangeRequest(head + limiter + R"(,"repeat":false})")).repeat);
  EXPECT(CodeOf(ParseChangeRequest(head + limiter + R"(,"repeat":1})")) == "bad_request");
  EXPECT(CodeOf(ParseChangeRequest(head + limiter + R"(,"repeat":null})")) == "bad_request");
  EXPECT(!std::get<ChangeRequest>(ParseChangeRequest(head + limiter + "}")).lift_rate_limit);
  EXPECT(std::get<ChangeRequest>(ParseChangeRequest(head + limiter + R"(,"lift_rate_limit":true})")).lift_rate_limit);
  EXPECT(CodeOf(ParseChangeRequest(head + limiter + R"(,"lift_rate_limit":"true"})")) == "bad_request");
}

void TestOptionValues() {
  OptionCatalogue catalogue;
  const auto family = [&](const char* name, const char* value) {
    return CodeOf(catalogue.Check(Scope::kColumnFamily, name, value));
  };
  EXPECT(family("write_buffer_size", "67108864") == "");
  EXPECT(family("write_buffer_size", "12x") == "bad_value" && family("write_buffer_size", "64M") == "bad_value");
  EXPECT(family("write_buffer_size", "-5") == "bad_value" && family("write_buffer_size", "") == "bad_value");
  EXPECT(family("write_buffer_size", "007") == "bad_value" && family("num_levels", "5") == "not_live");
  EXPECT(family("nope", "1") == "no_such_option" && family("max_background_jobs", "2") == "no_such_option");
  EXPECT(family("max_bytes_for_level_multiplier", "8.000000") == "" && family("max_bytes_for_level_multiplier", "1.000000") == "");
  EXPECT(family("max_bytes_for_level_multiplier", "0.999999") == "bad_value");
  for (const char* trigger : {"level0_stop_writes_trigger", "level0_slowdown_writes_trigger"}) {
    EXPECT(family(trigger, "0") == "bad_value" && family(trigger, "-1") == "bad_value" && family(trigger, "1") == "");
  }
  EXPECT(family("max_write_buffer_number", "1") == "bad_value" && family("max_write_buffer_number", "2") == "");
  EXPECT(family("max_bytes_for_level_base", "0") == "bad_value" && family("max_bytes_for_level_base", "1") == "");
  EXPECT(family("max_bytes_for_level_base", "18446744073709551615") == "");
  EXPECT(family("compression_opts", std::string(4097, 'x').c_str()) == "bad_value");
  const auto database = [&](const char* name, const char* value) {
    return CodeOf(catalogue.Check(Scope::kDatabase, name, value));
  };
  EXPECT(database("delayed_write_rate", "0") == "bad_value" && database("delayed_write_rate", "1") == "");
  EXPECT(database("max_background_jobs", "1") == "" && database("max_background_jobs", "1024") == "");
  EXPECT(database("max_background_jobs", "0") == "bad_value" && database("max_background_jobs", "1025") == "bad_value");
  EXPECT(database("max_background_jobs", "-1") == "bad_value");
  EXPECT(database("max_background_flushes", "-1") == "" && database("max_background_flushes", "1025") == "bad_value");
  EXPECT(database("max_background_compactions", "-2") == "bad_value");
  // Every live option accepts its own default: what a restore plan will send.
  const auto defaults = LiveOptions(rocksdb::ColumnFamilyOptions());
  for (const auto& [name, value] : defaults) EXPECT(family(name.c_str(), value.c_str()) == "");
  for (const auto& [name, value] : LiveOptions(rocksdb::DBOptions())) {
    EXPECT(name == "delayed_write_rate" || database(name.c_str(), value.c_str()) == "");  // a 0 that is none when open
  }
}

void TestHostSafety() {
  EXPECT(!LackOfSpace({"/", "/proc", "/no/such/directory"}));
  const char* const trigger = "level0_file_num_compaction_trigger";
  const OptionMap current{{trigger, "4"},
                          {"level0_slowdown_writes_trigger", "20"},
                          {"level0_stop_writes_trigger", "36"},
                          {"max_write_buffer_number", "6"},
                          {"min_write_buffer_number_to_merge", "2"}};
  EXPECT(!FindConflict(current, FamilyChange(trigger, "20")));
  EXPECT(FindConflict(current, FamilyChange(trigger, "21")));
  EXPECT(FindConflict(current, FamilyChange("level0_slowdown_writes_trigger", "3")));
  EXPECT(FindConflict(current, FamilyChange("level0_slowdown_writes_trigger", "-1")));
  EXPECT(!FindConflict(current, FamilyChange("level0_stop_writes_trigger", "4")));
  const auto conflict = FindConflict(current, FamilyChange("level0_stop_writes_trigger", "3"));
  EXPECT(conflict && conflict->options == (std::vector<std::string>{trigger, "level0_stop_writes_trigger"}));
  EXPECT(!FindConflict(current, FamilyChange("max_write_buffer_number", "3")));
  EXPECT(FindConflict(current, FamilyChange("max_write_buffer_number", "2")));
  Change both = FamilyChange("level0_slowdown_writes_trigger", "3");
  both.options[trigger] = "3";
  EXPECT(!FindConflict(current, both));
  const OptionMap by_the_host{{trigger, "9"}, {"level0_slowdown_writes_trigger", "8"}};
  EXPECT(!FindConflict(by_the_host, FamilyChange("write_buffer_size", "1")));
}

// Descriptor 2 of a daemon: what it was loaded with, or a file of the database's.
void TestStandardError() {
  const int at_load = dup(STDERR_FILENO);
  int another[2];
  EXPECT(at_load >= 0 && pipe(another) == 0 && dup2(another[1], STDERR_FILENO) == STDERR_FILENO);
  close(another[1]);
  SayOnStandardError("this must not be seen\n");
  dup2(at_load, STDERR_FILENO);
  close(at_load);
  char byte;
  EXPECT(read(another[0], &byte, 1) == 0);
  close(another[0]);
}

// Which signals a thread of ours takes; those that RocksDB starts in our calls inherit it.
void TestThreadSignals() {
  sigset_t profile, before, seen;
  sigemptyset(&profile);
  sigaddset(&profile, SIGPROF);
  const auto look = [&seen] { pthread_sigmask(SIG_SETMASK, nullptr, &seen); };
  StartThread("test", look).join();
  for (const int taken : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF}) {
    EXPECT(sigismember(&seen, taken) == 0);
  }
  for (const int blocked : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGPIPE, SIGALRM, SIGCHLD, SIGRTMIN}) {
    EXPECT(sigismember(&seen, blocked) == 1);
  }
  pthread_sigmask(SIG_BLOCK, &profile, &before);
  StartThread("test", look).join();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT(sigismember(&seen, SIGPROF) == 1);  // as the host has it
}

void TestCfStats() {
  const std::map<std::string, std::string> map{{"compaction.L0.SizeBytes", "843480.000000"},
                                               {"compaction.L0.NumFiles", "5.000000"},
                                               {"compaction.L6.SizeBytes", "9007199254740991.000000"},
                                               {"compaction.Sum.SizeBytes", "7.000000"},
                                               {"io_stalls.memtable_compaction", "3"},
                                               {"io_stalls.slowdown_for_pending_compaction_bytes", "4"}};
  const CfStats stats = CfStatsOf(map, 7);
  EXPECT(stats.level_bytes == (std::vector<uint64_t>{843480, 0, 0, 0, 0, 0, 9007199254740991}));
  EXPECT(stats.stall_counts && stats.stall_counts->memtable_stops == 3);
  EXPECT(stats.stall_counts && stats.stall_counts->pending_bytes_slowdowns == 4 && stats.stall_counts->l0_stops == 0);
  const auto newer = CfStatsOf({{"memtable-limit-stops", "5"}, {"l0-file-count-limit-delays", "6"}}, 0).stall_counts;
  EXPECT(newer && newer->memtable_stops == 5 && newer->l0_slowdowns == 6 && newer->l0_stops == 0);
  EXPECT(!CfStatsOf({{"compaction.L0.SizeBytes", "1.000000"}}, 1).stall_counts);
  EXPECT(CfStatsOf(map, 1).level_bytes == std::vector<uint64_t>{843480});
}

void TestHistograms() {
  using rocksdb::StatsLevel;
  EXPECT(!KeepsHistograms(nullptr) && !KeepsTickers(nullptr));
  const auto statistics = rocksdb::CreateDBStatistics();
  for (const auto level : {StatsLevel::kDisableAll, StatsLevel::kExceptHistogramOrTimers}) {
    statistics->set_stats_level(level);
    EXPECT(!KeepsHistograms(statistics.get()) && !HistogramCache().At(statistics.get(), 9));
    EXPECT(KeepsTickers(statistics.get()) == (level != StatsLevel::kDisableAll));  // else they stand still
  }
  for (const auto level : {StatsLevel::kExceptTimers, StatsLevel::kExceptDetailedTimers, StatsLevel::kAll}) {
    statistics->set_stats_level(level);
    EXPECT(KeepsHistograms(statistics.get()));
  }
  HistogramCache cache;
  EXPECT(!cache.At(nullptr, 0.1));
  EXPECT(cache.At(statistics.get(), 0.1)->empty());  // read at once, though the machine has just started
  statistics->recordInHistogram(rocksdb::DB_WRITE, 7);
  statistics->recordInHistogram(rocksdb::DB_WRITE, 1000000);
  EXPECT(cache.At(statistics.get(), 0.59)->empty());
  const auto read = cache.At(statistics.get(), 0.61);
  EXPECT(read->size() == 1 && read->front().name == std::string("rocksdb.db.write.micros"));
  EXPECT(read->front().count == 2 && read->front().sum == 1000007);
  statistics->set_stats_level(StatsLevel::kExceptHistogramOrTimers);
  EXPECT(!cache.At(statistics.get(), 0.62));
  statistics->set_stats_level(StatsLevel::kAll);
  EXPECT(cache.At(statistics.get(), 0.63)->size() == 1);
  EXPECT(statistics->Reset().ok() && cache.At(statistics.get(), 2)->empty());
}

void TestLatencyHistogram() {
  using H = LatencyHistogram;
  for (uint64_t ns = 1024; ns < uint64_t{1} << 39; ns += ns / 37) {
    const double middle = static_cast<double>(H::Middle(H::IndexOf(ns)));
    EXPECT(std::abs(middle / static_cast<double>(ns) - 1) < 0.0079);
  }
  for (size_t index = 0; index < 2048; ++index) EXPECT(H::IndexOf(H::Middle(index)) == index);
  auto histogram = std::make_unique<H>();
  histogram->Add(0, 32);
  histogram->Add(1'000'000'000, 1);
  histogram->Add(UINT64_MAX, 2);  // longer than the longest bucket: counts there
  const auto found = histogram->NotEmpty();
  EXPECT(found.size() == 3 && found[0] == (std::pair<uint64_t, uint64_t>{4, 32}) && found[2].second == 2);
  EXPECT(found[1].first > 992'000'000 && found[1].first < 1'008'000'000 && found[2].first > uint64_t{1} << 39);
}

// What a thread's writes come to: about as many as there were, though few are looked at, and every slow one.
void TestWriteTiming() {
  using namespace write_timing;
  int databases[2]{};
  constexpr uint64_t kWrites = 320'000;
  LatencyHistogram* histogram = Begin(&databases[0]);
  LatencyHistogram* other = Begin(&databases[1]);
  EXPECT(histogram && other && histogram != other && g_databases == 2);
  const int64_t began_ns = Nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  for (uint64_t i = 0; i < kWrites; ++i) const Timer timer(&databases[0]);
  const auto cpu_ns = static_cast<double>(Nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - began_ns);
  std::printf("%.1f ns of CPU for each write that is timed\n", cpu_ns / kWrites);
  uint64_t counted = 0;
  for (const auto& [ns, count] : histogram->NotEmpty()) counted += count;
  // 40,000 are expected in the sample, each for 8; their number has a standard deviation of some 100.
  EXPECT(counted > kWrites * 95 / 100 && counted < kWrites * 105 / 100);
  EXPECT(other->NotEmpty().empty());
  for (int i = 0; i < 3; ++i) {
    const Timer timer(&databases[1]);
    const timespec pause{0, 60'000'000};
    nanosleep(&pause, nullptr);
  }
  counted = 0;
  for (const auto& [ns, count] : other->NotEmpty()) {
    counted += count;
    EXPECT(ns > 40'000'000);
  }
  EXPECT(counted == 3);
  End(&databases[1]);
  Count(&databases[1], 1, 1);  // ends after its database: nobody's
  EXPECT(Begin(&databases[1]) == other && other->NotEmpty().empty());
  End(&databases[1]);
  End(&databases[0]);
  EXPECT(g_databases == 0);
}

}  // namespace

// So that an expectation can find out what an allocation that fails leaves behind. Inlined, GCC takes them for a mismatch.
__attribute__((noinline)) void* operator new(size_t size) {
  void* memory = g_no_memory ? nullptr : std::malloc(size ? size : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept { std::free(memory); }

int main() {
  // Computed by hand from the definition of FNV-1a.
  EXPECT(DatabaseId("h", "/p", "i") == "e4076b237ea81165");
  TestLease();
  TestOriginals();
  TestOriginalsOfTheOwner();
  TestOriginalsOfALimiterThatItsOwnerTurns();
  TestControlTakesWhatItFinds();
  TestRestore();
  TestRestoreWithoutMemory();
  TestChangeInFlightIsAdopted();
  TestServerWithoutMemory();
  TestStall();
  TestAwait();
  TestGate();
  TestColumnFamilies();
  TestChangeWaitsForADrop();
  TestLimiterWatch();
  TestQuery();
  TestBodies();
  TestOptionValues();
  TestHostSafety();
  TestStandardError();
  TestThreadSignals();
  TestCfStats();
  TestHistograms();
  TestLatencyHistogram();
  TestWriteTiming();
  std::printf("%d expectations failed\n", g_failures);
  return g_failures ? 1 : 0;
}
