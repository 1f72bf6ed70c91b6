#include "executor.h"

#include <functional>
#include <map>
#include <system_error>
#include <unordered_map>

#include "clock.h"
#include "host_safety.h"
#include "option_text.h"
#include "rate_requests.h"
#include "session.h"

namespace adocd {
namespace {

using ReadValues = std::function<OptionMap()>;
using Apply = std::function<rocksdb::Status()>;

OptionMap Named(const OptionMap& all, const Change& change) {
  OptionMap result;
  for (const auto& [key, value] : KeyValues(change)) {
    if (const auto found = all.find(key.name); found != all.end()) result[key.name] = found->second;
  }
  return result;
}

bool AllThere(const OptionMap& current, const Change& change) {
  for (const auto& [key, value] : KeyValues(change)) {
    const auto found = current.find(key.name);
    if (found == current.end() || found->second != value) return false;
  }
  return true;
}

std::string NotExecuted(const std::string& why) { return "Not executed: " + why + "."; }

// RocksDB raises a pool's limit before it starts the threads. If the process may start no more, that throws, and with the
// limit left there its next flush or compaction would throw, too, in a thread of the host's in which nobody catches it.
rocksdb::Status KeepingPools(rocksdb::Env* env, const Apply& apply) {
  std::map<std::string, int> before;
  for (const char* pool : kPools) before[pool] = env->GetBackgroundThreads(PoolPriority(pool));
  try {
    return apply();
  } catch (const std::system_error& error) {
    for (const auto& [pool, threads] : before) {
      const auto priority = PoolPriority(pool);
      if (env->GetBackgroundThreads(priority) > threads) env->SetBackgroundThreads(threads, priority);
    }
    return rocksdb::Status::Aborted("the process cannot start another thread", error.code().message());
  }
}

StepResult Run(const Session& session, const Change& change, bool repeat, const ReadValues& read,
               const Apply& apply) {
  StepResult result;
  const double begun_s = MonotonicSeconds();
  const OptionMap before = read();
  result.before = result.read_back = Named(before, change);
  if (!repeat && AllThere(result.read_back, change)) {
    result.outcome = StepResult::Outcome::kUnchanged;
  } else if (auto conflict = FindConflict(before, change)) {
    result.error = NotExecuted(conflict->why);
    result.at_odds = std::move(conflict->options);
  } else if ((result.lacks_room = LackOfSpace(session, change))) {
    result.error = NotExecuted(*result.lacks_room);
  } else {
    const rocksdb::Status status = KeepingPools(session.env, apply);
    result.read_back = Named(read(), change);
    result.outcome = status.ok() ? StepResult::Outcome::kApplied : StepResult::Outcome::kError;
    if (!status.ok()) result.error = status.ToString();
  }
  result.elapsed_s = MonotonicSeconds() - begun_s;
  return result;
}

std::unordered_map<std::string, std::string> Unordered(const OptionMap& options) {
  return {options.begin(), options.end()};
}

}  // namespace

StepResult Gone(std::string error) {
  StepResult result;
  result.error = std::move(error);
  result.target_gone = true;
  return result;
}

StepResult Execute(Session& session, const Change& change, bool repeat) {
  rocksdb::DB* db = session.db();
  const auto run = [&](const ReadValues& read, const Apply& apply) { return Run(session, change, repeat, read, apply); };
  switch (change.scope) {
    case Scope::kColumnFamily: {
      const auto family = session.column_families->UseToChange(change.column_family);
      if (!family) return Gone("Column family '" + change.column_family + "' is gone.");
      return run([&] { return ShownOptions(rocksdb::ColumnFamilyOptions(db->GetOptions(family->handle))); },
                 [&] {
                   // Reading took its time. A host that begins a drop in the moment that is left is not waited for: it
                   // may hold a lock that its own listener takes within SetOptions.
                   if (!session.column_families->UseToChange(change.column_family)) {
                     return rocksdb::Status::Aborted("the column family is gone");
                   }
                   return db->SetOptions(family->handle, Unordered(change.options));
                 });
    }
    case Scope::kDatabase:
      return run([&] { return LiveOptions(db->GetDBOptions()); },
                 [&] { return db->SetDBOptions(Unordered(change.options)); });
    case Scope::kRateLimiter:
      if (!session.rate_limiter) return Gone("The database has no rate limiter.");
      return run([&] { return OptionMap{{kLimiterKey, std::to_string(session.rate_limiter->GetBytesPerSecond())}}; },
                 [&] {
                   rate_requests::Turn(session.rate_limiter.get(), change.bytes_per_s);
                   return rocksdb::Status::OK();
                 });
    case Scope::kThreadPool: {
      const auto priority = PoolPriority(change.pool);
      return run([&] { return OptionMap{{kThreadsKey, std::to_string(session.env->GetBackgroundThreads(priority))}}; },
                 [&] {
                   session.env->SetBackgroundThreads(change.threads, priority);
                   return rocksdb::Status::OK();
                 });
    }
  }
  return Gone("Unknown scope.");
}

StepResult ExecuteWhatFits(Session& session, const Change& change) {
  StepResult result = Execute(session, change, /*repeat=*/false);
  Change rest = change;
  while (!result.at_odds.empty()) {
    for (const auto& name : result.at_odds) rest.options.erase(name);
    if (rest.options.empty()) break;
    StepResult next = Execute(session, rest, /*repeat=*/false);
    if (next.lacks_room || next.target_gone) return next;
    next.error = *result.error + (next.error ? " " + *next.error : "");
    next.outcome = StepResult::Outcome::kError;
    next.elapsed_s += result.elapsed_s;
    next.read_back.insert(result.read_back.begin(), result.read_back.end());  // of those that stay as they are
    result = std::move(next);
  }
  return result;
}

}  // namespace adocd
