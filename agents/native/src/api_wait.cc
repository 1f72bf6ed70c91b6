// GET wait: answers as soon as an event is there, so that a client need not poll.
#include <sstream>

#include "api.h"
#include "json_text.h"
#include "query.h"
#include "session_json.h"

namespace adocd {
namespace {

struct WaitRequest {
  uint64_t after = 0;
  unsigned kinds = 0;
  uint64_t at_most_ms = 0;
};

struct Waiting {
  Reply reply;
  uint64_t number = 0;  // SessionEvents::Await
};

std::optional<uint64_t> WholeNumber(const Query& query, const char* name) {
  const auto found = query.find(name);
  return found == query.end() ? std::nullopt : ParseUnsigned(found->second);
}

std::optional<Problem> Parse(const Query& query, WaitRequest* request) {
  const auto after = WholeNumber(query, "events_after"), at_most_ms = WholeNumber(query, "at_most_ms");
  if (!after) return BadRequest(400, "events_after: a whole number is expected, a snapshot's last_event.");
  if (!at_most_ms || *at_most_ms > Api::kMaxWaitMs) {
    return BadRequest(400, "at_most_ms: a whole number is expected, at most " + std::to_string(Api::kMaxWaitMs) + ".");
  }
  request->after = *after;
  request->at_most_ms = *at_most_ms;
  const auto names = query.find("for");
  std::istringstream words(names == query.end() ? "" : names->second);
  for (std::string word; std::getline(words, word, ',');) {
    const AwaitedKind kind = AwaitedKindOf(word);
    if (kind == kNoKind) {
      return BadRequest(400, "for: '" + word + "' cannot be waited for; see waits_for in the capabilities.");
    }
    request->kinds |= kind;
  }
  if (request->kinds == 0) return BadRequest(400, "for: name the kinds of events to wait for, separated by commas.");
  return std::nullopt;
}

HttpResponse Answer(const Session& session, const WaitRequest& request) {
  uint64_t lost = 0;
  std::string event = "null";
  for (const auto& found : session.events->After(request.after, &lost)) {
    if ((AwaitedKindOf(found->kind) & request.kinds) == 0) continue;
    event.clear();
    AppendEvent(&event, *found);
    break;
  }
  HttpResponse response;
  JsonObjectWriter(&response.body).Raw("event", event);
  return response;
}

}  // namespace

void Api::Wait(const OpenDatabase& database, const Query& query, Reply reply) {
  if (database.session->attached()) {
    return reply(ProblemResponse({422, "unsupported", "This database was open before the agent came, so the agent hears "
                                  "of no events; ask for snapshots.", {}, {}}));
  }
  WaitRequest request;
  if (const auto problem = Parse(query, &request)) return reply(ProblemResponse(*problem));
  if (waiting_ >= kMaxWaiting) {
    return reply(ProblemResponse({503, "unavailable", "Too many requests wait already; try again later.", {}, {}}));
  }
  auto waiting = std::make_shared<Waiting>();
  // The first of the two: the event or the timeout. Both run on the http thread.
  const auto end = [this, waiting, request, weak = std::weak_ptr<Session>(database.session),
                    id = database.session->id] {
    if (!waiting->reply) return;
    const Reply to = std::move(waiting->reply);
    waiting->reply = nullptr;
    --waiting_;
    const auto session = weak.lock();
    if (!session || session->closed()) return to(ProblemResponse(NoSuchDatabase(id)));
    session->events->EndWait(waiting->number);
    to(Answer(*session, request));
  };
  scheduler_->After(static_cast<double>(request.at_most_ms) * 1e-3, end);
  waiting->reply = std::move(reply);
  ++waiting_;
  waiting->number = database.session->events->Await(request.after, request.kinds,
                                                    [scheduler = scheduler_, end] { scheduler->Post(end); });
}

}  // namespace adocd
