#include "host.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <set>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <rocksdb/rate_limiter.h>
#include <rocksdb/statistics.h>

#include "clock.h"
#include "listener.h"
#include "request_json.h"

namespace adocd::fuzz {
namespace {

// Of one database. An open takes as long as fifty other inputs, and so does a snapshot with thousands of events.
constexpr uint64_t kMostEvents = 300;
constexpr int64_t kMostThreads = 64, kMostAccepted = 1024;  // more than the first would only cost time

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "fuzz: %s\n", what.c_str());
  std::abort();
}

class SilentLogger : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

// A rate, and nobody waits for it. Before a lower one of RocksDB's own limiter, the agent waits 100 ms where the library
// has an assertion (rate_requests.h); tests/native/test_rate_requests.py looks at that.
class RateAlone : public rocksdb::RateLimiter {
 public:
  using rocksdb::RateLimiter::Request;
  void SetBytesPerSecond(int64_t rate) override { rate_ = rate; }
  int64_t GetBytesPerSecond() const override { return rate_; }
  int64_t GetSingleBurstBytes() const override { return rate_; }
  int64_t GetTotalBytesThrough(rocksdb::Env::IOPriority) const override { return 0; }
  int64_t GetTotalRequests(rocksdb::Env::IOPriority) const override { return 0; }
  void Request(int64_t, rocksdb::Env::IOPriority, rocksdb::Statistics*) override {}

 private:
  std::atomic<int64_t> rate_{64 << 20};
};

// What is accepted and starts threads by the hundred; and max_subcompactions, whose bound is the daemon's matter.
bool IsDeadly(const Change& change) {
  static const std::set<std::string> kRefusedAbove{"max_background_jobs", "max_background_compactions",
                                                   "max_background_flushes"};
  if (change.threads > kMostThreads) return true;
  for (const auto& [name, value] : change.options) {
    const int64_t threads = std::strtoll(value.c_str(), nullptr, 10);
    if (threads > kMostThreads && (name == "max_subcompactions" || (kRefusedAbove.count(name) && threads <= kMostAccepted))) {
      return true;
    }
  }
  return false;
}

bool IsDeadly(const HttpRequest& request) {
  if (request.method != "PATCH") return false;
  const auto parsed = ParseChangeRequest(request.body);
  const auto* wanted = std::get_if<ChangeRequest>(&parsed);
  if (!wanted) return false;
  for (const auto& change : wanted->changes) {
    if (IsDeadly(change)) return true;
  }
  for (const auto& step : wanted->restore_plan) {
    if (IsDeadly(step.change)) return true;
  }
  return false;
}

// The digit after `name` counts the leases of this input, as if nobody had had one before.
void AddToEpoch(const char* name, int64_t before, std::string* text) {
  const size_t found = text->find(name);
  if (found == std::string::npos || before == 0) return;
  size_t digit = found + std::strlen(name);
  while (digit < text->size() && (*text)[digit] == ' ') ++digit;
  if (digit >= text->size() || (*text)[digit] < '1' || (*text)[digit] > '9') return;
  if (digit + 1 < text->size() && std::strchr("0123456789.eE", (*text)[digit + 1])) return;
  text->replace(digit, 1, std::to_string(before + (*text)[digit] - '0'));
}

// Strings without control characters, brackets in pairs: what a mistake in writing the client's text would break. A
// parser would take as long as the agent, and its branches would count as coverage.
__attribute__((no_sanitize("coverage"))) bool IsWellFormed(const std::string& json) {
  std::string open;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      open += c;
    } else if (c == '}' || c == ']') {
      if (open.empty() || open.back() != (c == '}' ? '{' : '[')) return false;
      open.pop_back();
    }
  }
  return !in_string && open.empty();
}

void Check(const HttpRequest& request, const HttpResponse& response) {
  static const std::set<int> kDeclared{200, 202, 400, 404, 405, 409, 422};
  if (!kDeclared.count(response.status)) {
    Fail(request.method + " " + request.target + " was answered by " + std::to_string(response.status) + ": " +
         response.body);
  }
  if (!IsWellFormed(response.body)) Fail(request.target + " was answered by what is not JSON: " + response.body);
}

}  // namespace

Host& Host::Get() {
  // Never destroyed: its threads run until the process ends.
  static Host* const host = [] {
    auto* made = new Host;
    static Host* const closing = made;
    std::atexit([] {
      closing->server_.Stop();
      closing->Close();
    });
    return made;
  }();
  return *host;
}

Host::Host()
    : server_([this](const HttpRequest& request, Reply reply) { Handle(request, std::move(reply)); },
              [](unsigned) { return true; }) {
  address_ = std::string(1, '\0') + "adocd-fuzz-" + std::to_string(getpid());  // abstract: leaves no file
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, address_.data(), address_.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0 || listen(fd, 64) != 0) Fail("no socket");
  Open();
  api_ = std::make_unique<Api>(ProcessInfo{"00", "host", "fuzz", "user", 1}, &registry_, &sampler_, &server_);
  sampler_.Start();
  server_.Start(fd);
}

void Host::Open() {
  env_.reset(rocksdb::NewMemEnv(rocksdb::Env::Default()));
  OpenParts parts;
  parts.events = std::make_shared<SessionEvents>();
  parts.column_families = std::make_shared<ColumnFamilies>();
  parts.host_logger = true;
  rocksdb::DBOptions options;
  options.create_if_missing = options.create_missing_column_families = true;
  options.env = env_.get();
  options.info_log = std::make_shared<SilentLogger>();
  options.statistics = rocksdb::CreateDBStatistics();
  options.rate_limiter = std::make_shared<RateAlone>();
  options.listeners.push_back(MakeListener(parts.events, parts.column_families));
  const rocksdb::ColumnFamilyOptions family;
  // The second can be named in a request; the third, which is not UTF-8, only in an answer.
  const std::vector<rocksdb::ColumnFamilyDescriptor> families{
      {"default", family}, {"co\"ld", family}, {"\xff\n", family}};
  const auto status = rocksdb::DB::Open(options, "/db", families, &handles_, &db_);
  if (!status.ok()) Fail("no database: " + status.ToString());
  db_->Put({}, "key", "value");
  database_.session = std::make_shared<Session>(db_, handles_, std::move(parts));
  database_.session->id = kDatabase;
  database_.session->session_id = "session";  // also the key of the lease's timer: one is enough for all
  database_.applier = std::make_shared<Applier>(database_.session);
  registry_.Add(db_, database_);
  epochs_before_ = 0;
  settled_ = database_.session->events->last_sequence();
}

void Host::Close() {
  registry_.Remove(db_);
  database_.session->LetGo();
  database_.session->events->Deactivate();
  database_.applier->Stop();
  database_ = {};
  for (auto* handle : handles_) db_->DestroyColumnFamilyHandle(handle);
  handles_.clear();
  delete db_;
  db_ = nullptr;
}

void Host::Handle(HttpRequest request, Reply reply) noexcept {
  AddToEpoch("\"epoch\":", epochs_before_, &request.body);
  AddToEpoch("epoch=", epochs_before_, &request.target);
  if (IsDeadly(request)) return reply(ProblemResponse(BadRequest(422, "Deadly.")));
  api_->Handle(request, [request, reply = std::move(reply)](HttpResponse response) {
    Check(request, response);
    reply(std::move(response));
  });
}

void Host::Converse(const uint8_t* data, size_t size) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, address_.data(), address_.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), length) != 0) Fail(std::strerror(errno));
  for (size_t sent = 0; sent < size;) {
    const ssize_t some = send(fd, data + sent, size - sent, MSG_NOSIGNAL);
    if (some < 0) break;  // it has had enough and closed
    sent += static_cast<size_t>(some);
  }
  shutdown(fd, SHUT_WR);
  char answer[65536];
  while (recv(fd, answer, sizeof answer, 0) > 0) {
  }
  close(fd);
}

HttpResponse Host::Ask(std::string method, std::string target, std::string body) {
  std::promise<HttpResponse> answer;
  const HttpRequest request{std::move(method), std::move(target), std::move(body)};
  server_.Post([&] { Handle(request, [&answer](HttpResponse response) { answer.set_value(std::move(response)); }); });
  return answer.get_future().get();
}

void Host::AwaitRestore() {
  while (database_.session->control.Status(MonotonicSeconds()).restore.state == std::string("running")) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Host::Settle() {
  if (database_.session->events->last_sequence() > kMostEvents) {
    Close();
    return Open();
  }
  uint64_t lost = 0;
  bool leased = false;
  for (const auto& event : database_.session->events->After(settled_, &lost)) {
    if (std::strcmp(event->kind, "lease_acquired") != 0) continue;
    leased = true;
    epochs_before_ = std::strtoll(event->detail.c_str() + event->detail.rfind(' '), nullptr, 10);
  }
  if (leased) Ask("DELETE", std::string("/v1/databases/") + kDatabase + "/lease?force=true&restore=false");
  settled_ = database_.session->events->last_sequence();
}

}  // namespace adocd::fuzz
