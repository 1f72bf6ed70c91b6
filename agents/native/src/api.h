#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "http_message.h"
#include "option_catalogue.h"
#include "registry.h"
#include "sampler.h"

namespace adocd {

struct ProcessInfo {
  std::string rocksdb_build_id, host, program, user;
  int pid = 0;
  std::string write_latency = "none";     // Agent::TimesWrites
  std::string added_statistics = "none";  // level of the Statistics that the agent adds
};

using Query = std::map<std::string, std::string>;

// The admin protocol: takes a request, returns an answer. Runs on the http thread and never touches a database.
class Api {
 public:
  Api(ProcessInfo process, Registry* registry, Sampler* sampler, Scheduler* scheduler)
      : process_(std::move(process)), registry_(registry), sampler_(sampler), scheduler_(scheduler) {}

  // Most requests that wait for events at once, and for how long.
  static constexpr int kMaxWaiting = 16;
  static constexpr uint64_t kMaxWaitMs = 10000;

  void Handle(const HttpRequest& request, Reply reply);

 private:
  void HandleDatabase(const OpenDatabase& database, const HttpRequest& request, const std::string& resource,
                      const Query& query, Reply reply);
  HttpResponse Info();
  HttpResponse Databases();
  HttpResponse Database(const Session& session);
  void Snapshot(const OpenDatabase& database, const Query& query, Reply reply);
  void Wait(const OpenDatabase& database, const Query& query, Reply reply);
  void ChangeOptions(const OpenDatabase& database, const std::string& body, Reply reply);
  HttpResponse HoldLease(const OpenDatabase& database, const std::string& body);
  HttpResponse ReleaseLease(const OpenDatabase& database, const Query& query);

  std::string DatabaseMembers(const Session& session) const;
  std::string CapabilitiesJson(bool rate_limiter, const std::string& statistics, const std::string& write_latency,
                               bool has_listener) const;
  std::optional<Problem> Validate(const Session& session, const Change& change);
  void ExpireLease(const OpenDatabase& database);
  void ArmLeaseTimer(const OpenDatabase& database, double delay_s);
  // Looks for calls that wait, until no change is in flight.
  void WatchCalls(const std::weak_ptr<Session>& weak, const std::string& session_id);

  const ProcessInfo process_;
  Registry* const registry_;
  Sampler* const sampler_;
  Scheduler* const scheduler_;
  OptionCatalogue catalogue_;
  int waiting_ = 0;  // on the http thread only
};

}  // namespace adocd
