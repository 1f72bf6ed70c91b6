// Leases and changes.
#include "api.h"
#include "clock.h"
#include "query.h"
#include "request_json.h"
#include "session_json.h"

namespace adocd {
namespace {

HttpResponse JsonResponse(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

std::optional<Problem> CheckColumnFamily(const Session& session, const std::string& name) {
  if (session.column_families->Has(name)) return std::nullopt;
  return Problem{422, "no_such_column_family",
                 "Column family '" + name + "' is not open here; names are case-sensitive.", {}, {}};
}

// Rejects a condition that can never be read: during the restore, nobody could correct it any more. Looks it up in the
// last sample, because no request reads the database; for a column family that is in no sample yet, accepts it.
std::optional<Problem> CheckCondition(const Session& session, const Condition& condition) {
  if (auto problem = CheckColumnFamily(session, condition.column_family)) return problem;
  const auto sample = session.sample();
  if (!sample) return std::nullopt;
  for (const auto& family : sample->column_families) {
    if (family.name != condition.column_family) continue;
    for (const auto& [name, value] : family.properties) {
      if (name == condition.property) return std::nullopt;
    }
    return Problem{422, "bad_value",
                   "restore_plan: '" + condition.property + "' is no property that a snapshot of column family '" +
                       condition.column_family + "' has; take one of those.", {}, {}};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Problem> Api::Validate(const Session& session, const Change& change) {
  switch (change.scope) {
    case Scope::kColumnFamily:
      if (auto problem = CheckColumnFamily(session, change.column_family)) return problem;
      break;
    case Scope::kRateLimiter:
      if (!session.rate_limiter) {
        return Problem{422, "no_rate_limiter",
                       "The database was opened without a rate limiter, or with one that also limits reads in a "
                       "librocksdb with assertions, and none can be added later; start the program with "
                       "ADOCD_AGENT_RATE_LIMITER=<bytes per second>, or with a limiter of writes.", {}, {}};
      }
      return std::nullopt;
    case Scope::kThreadPool:
      return std::nullopt;
    case Scope::kDatabase:
      break;
  }
  for (const auto& [name, value] : change.options) {
    if (auto problem = catalogue_.Check(change.scope, name, value)) return problem;
  }
  return std::nullopt;
}

void Api::ChangeOptions(const OpenDatabase& database, const std::string& body, Reply reply) {
  auto parsed = ParseChangeRequest(body);
  if (auto* problem = std::get_if<Problem>(&parsed)) return reply(ProblemResponse(*problem));
  auto& request = std::get<ChangeRequest>(parsed);
  Session& session = *database.session;
  if (session.closed()) return reply(ProblemResponse(DatabaseClosed()));
  ExpireLease(database);
  auto problem = session.control.CheckCaller(request.holder, request.epoch, MonotonicSeconds());
  for (const auto& change : request.changes) {
    if (!problem) problem = Validate(session, change);
  }
  for (const auto& step : request.restore_plan) {
    if (!problem) problem = Validate(session, step.change);
    if (!problem && step.when) problem = CheckCondition(session, *step.when);
  }
  if (problem) return reply(ProblemResponse(*problem));
  if (request.lift_rate_limit && session.rate_limiter) WatchCalls(database.session, session.session_id);
  database.applier->Submit(std::move(request), [reply = std::move(reply)](ChangeOutcome outcome) {
    if (auto* refusal = std::get_if<Problem>(&outcome)) return reply(ProblemResponse(*refusal));
    reply(JsonResponse(200, StepsJson(std::get<std::vector<StepResult>>(outcome))));
  });
}

HttpResponse Api::HoldLease(const OpenDatabase& database, const std::string& body) {
  auto parsed = ParseLeaseRequest(body);
  if (auto* problem = std::get_if<Problem>(&parsed)) return ProblemResponse(*problem);
  const auto& request = std::get<LeaseRequest>(parsed);
  if (database.session->closed()) return ProblemResponse(DatabaseClosed());
  ExpireLease(database);
  const double now_s = MonotonicSeconds();
  auto result = database.session->control.Hold(request.holder, request.epoch, request.ttl_s, now_s);
  if (auto* problem = std::get_if<Problem>(&result)) return ProblemResponse(*problem);
  ArmLeaseTimer(database, request.ttl_s);
  database.applier->WakeIfStarted();  // so that a restore that waits for a condition stops now
  return JsonResponse(200, LeaseJson(std::get<Lease>(result), now_s));
}

HttpResponse Api::ReleaseLease(const OpenDatabase& database, const Query& query) {
  const auto get = [&](const char* name) -> std::optional<std::string> {
    const auto found = query.find(name);
    if (found == query.end()) return std::nullopt;
    return found->second;
  };
  std::optional<int64_t> epoch;
  if (const auto text = get("epoch")) {
    const auto value = ParseUnsigned(*text);
    if (!value || *value > INT64_MAX) return ProblemResponse(BadRequest(400, "epoch: '" + *text + "' is not a whole number."));
    epoch = static_cast<int64_t>(*value);
  }
  const auto restore = ParseBool(get("restore").value_or("true"));
  const auto force = ParseBool(get("force").value_or("false"));
  if (!restore || !force) return ProblemResponse(BadRequest(400, "restore and force are true or false."));
  ExpireLease(database);
  bool begin_restore = false;
  if (auto problem = database.session->control.Release(get("holder"), epoch, *restore, *force, &begin_restore)) {
    return ProblemResponse(*problem);
  }
  if (begin_restore) database.applier->Wake();
  return JsonResponse(202, RestoreJson(database.session->control.Status(MonotonicSeconds()).restore));
}

void Api::WatchCalls(const std::weak_ptr<Session>& weak, const std::string& session_id) {
  scheduler_->SetTimer(session_id + "/calls", LimiterLift::kLookSeconds, [this, weak, session_id] {
    const auto session = weak.lock();
    // Also of a session that is being closed: the close waits for the call.
    if (!session || !session->control.ChangeInFlight()) return;
    session->limiter_lift.Look(*session, MonotonicSeconds());
    WatchCalls(weak, session_id);
  });
}

void Api::ExpireLease(const OpenDatabase& database) {
  if (database.session->control.ExpireIfDue(MonotonicSeconds())) database.applier->Wake();
}

void Api::ArmLeaseTimer(const OpenDatabase& database, double delay_s) {
  // The timer must not keep a closed session alive.
  const std::weak_ptr<Session> weak = database.session;
  const auto applier = database.applier;
  scheduler_->SetTimer(database.session->session_id, delay_s, [this, weak, applier] {
    const auto session = weak.lock();
    if (!session || session->closed()) return;
    // The host may be out of memory: what this needs before the restore begins is there already.
    if (const auto left_s = session->control.LeaseLeftSeconds(MonotonicSeconds())) {
      return ArmLeaseTimer({session, applier}, *left_s);
    }
    ExpireLease({session, applier});
  });
}

}  // namespace adocd
