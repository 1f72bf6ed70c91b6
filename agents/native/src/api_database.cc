// GET of one database and its snapshot.
#include "api.h"
#include "clock.h"
#include "json_text.h"
#include "query.h"
#include "session_json.h"

namespace adocd {
namespace {

// How long a request waits for a new sample before it returns the old one.
constexpr double kSnapshotPatienceSeconds = 0.2;

}  // namespace

std::string Api::DatabaseMembers(const Session& session) const {
  std::string out;
  {
    JsonObjectWriter writer(&out);
    writer.String("id", session.id);
    writer.String("path", session.path);
    writer.String("db_identity", session.db_identity);
    writer.String("session", session.session_id);
    writer.Number("opened_monotonic_s", session.opened_monotonic_s);
    writer.Strings("column_families", session.column_families->Names());
    if (const auto closed = session.column_families->Closed(); !closed.empty()) {
      writer.Strings("unseen_column_families", closed);
    }
    if (!session.log_path.empty()) writer.String("log_path", session.log_path);
    writer.String("wal_dir", session.wal_dir);
    writer.Strings("data_paths", session.DataPaths());
    writer.Raw("added_options", JsonObject(session.added_options));
    writer.Raw("capabilities", CapabilitiesJson(session.rate_limiter != nullptr,
                                                StatisticsLevelName(session.statistics.get()),
                                                session.write_latency ? "sampled"
                                                : process_.write_latency == "off" ? "off" : "none",
                                                !session.attached()));
    if (session.attached()) writer.Bool("opened_before_agent", true);
  }
  return out;
}

HttpResponse Api::Database(const Session& session) {
  HttpResponse response;
  response.body = DatabaseMembers(session);
  response.body.pop_back();  // reopen the object for one more member
  response.body += R"(,"originals":)" + OriginalsJson(session) + "}";
  return response;
}

void Api::Snapshot(const OpenDatabase& database, const Query& query, Reply reply) {
  std::optional<uint64_t> events_after;
  if (const auto found = query.find("events_after"); found != query.end()) {
    events_after = ParseUnsigned(found->second);
    if (!events_after) {
      return reply(ProblemResponse(BadRequest(400, "events_after: '" + found->second + "' is not a whole number.")));
    }
  }
  const auto session = database.session;
  // The wait must not keep alive a closed session and the host's objects in it.
  const auto answer = [weak = std::weak_ptr<Session>(session), id = session->id, events_after](const Reply& to) {
    const auto session = weak.lock();
    if (!session) return to(ProblemResponse(NoSuchDatabase(id)));
    HttpResponse response;
    response.body = SnapshotJson(*session, *session->sample(), events_after);
    to(std::move(response));
  };
  if (session->IsFresh(*session->sample(), MonotonicSeconds())) return answer(reply);
  // The first of the two answers: the new sample or the timeout. Both run on the http thread.
  auto waiting = std::make_shared<Reply>(std::move(reply));
  const auto once = [waiting, answer] {
    if (!*waiting) return;
    const Reply to = std::move(*waiting);
    *waiting = nullptr;
    answer(to);
  };
  scheduler_->After(kSnapshotPatienceSeconds, once);
  sampler_->Request(session, [scheduler = scheduler_, once] { scheduler->Post(once); });
}

}  // namespace adocd
