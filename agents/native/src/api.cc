#include "api.h"

#include <rocksdb/version.h>

#include "json_text.h"
#include "query.h"
#include "version.h"

namespace adocd {
namespace {

Problem NotFound(const std::string& path) {
  return {404, "not_found", "There is no '" + path + "' here; begin with /v1/info or /v1/databases.", {}, {}};
}

// Null if a database has no such resource. Not a static map: the http thread still runs when static destructors begin.
const char* MethodsOf(const std::string& resource) {
  if (resource.empty() || resource == "snapshot" || resource == "wait") return "GET";
  if (resource == "options") return "PATCH";
  if (resource == "lease") return "PUT, DELETE";
  return nullptr;
}

HttpResponse MethodNotAllowed(const std::string& method, const std::string& allow) {
  auto response = ProblemResponse(
      {405, "method_not_allowed", "'" + method + "' is not possible here; use " + allow + ".", {}, {}});
  response.allow = allow;
  return response;
}

}  // namespace

void Api::Handle(const HttpRequest& request, Reply reply) {
  std::string path;
  Query query;
  if (!SplitTarget(request.target, &path, &query)) {
    return reply(ProblemResponse(BadRequest(400, "The request target is not a path with an optional query.")));
  }
  if (path == "/v1/info" || path == "/v1/databases") {
    if (request.method != "GET") return reply(MethodNotAllowed(request.method, "GET"));
    return reply(path == "/v1/info" ? Info() : Databases());
  }
  const std::string prefix = "/v1/databases/";
  if (path.compare(0, prefix.size(), prefix) != 0) return reply(ProblemResponse(NotFound(path)));
  const size_t slash = path.find('/', prefix.size());
  const std::string id = path.substr(prefix.size(), slash == std::string::npos ? slash : slash - prefix.size());
  const std::string resource = slash == std::string::npos ? "" : path.substr(slash + 1);
  const char* methods = MethodsOf(resource);
  if (!methods || id.empty() || (slash != std::string::npos && resource.empty())) {
    return reply(ProblemResponse(NotFound(path)));
  }
  const bool allowed = resource == "lease" ? request.method == "PUT" || request.method == "DELETE"
                                           : request.method == methods;
  if (!allowed) return reply(MethodNotAllowed(request.method, methods));
  const OpenDatabase database = registry_->FindId(id);
  if (!database.session) return reply(ProblemResponse(NoSuchDatabase(id)));
  HandleDatabase(database, request, resource, query, std::move(reply));
}

void Api::HandleDatabase(const OpenDatabase& database, const HttpRequest& request, const std::string& resource,
                         const Query& query, Reply reply) {
  if (resource.empty()) return reply(Database(*database.session));
  if (resource == "snapshot") return Snapshot(database, query, std::move(reply));
  if (resource == "wait") return Wait(database, query, std::move(reply));
  if (resource == "options") return ChangeOptions(database, request.body, std::move(reply));
  reply(request.method == "PUT" ? HoldLease(database, request.body) : ReleaseLease(database, query));
}

std::string Api::CapabilitiesJson(bool rate_limiter, const std::string& statistics,
                                  const std::string& write_latency, bool has_listener) const {
  std::string out;
  {
    JsonObjectWriter writer(&out);
    writer.Strings("column_family_options", catalogue_.LiveNames(Scope::kColumnFamily));
    writer.Strings("database_options", catalogue_.LiveNames(Scope::kDatabase));
    writer.Bool("rate_limiter", rate_limiter);
    writer.Bool("lifts_rate_limit", rate_limiter);
    writer.Raw("thread_pools", R"(["low","high","bottom"])");
    writer.Raw("events",
               has_listener ? R"(["flush","compaction","stall","background_error","database","memtable"])" : R"(["database"])");
    writer.Raw("waits_for", has_listener ? R"(["stall","memtables_wait"])" : "[]");
    writer.String("statistics", statistics);
    writer.String("write_latency", write_latency);
    writer.Bool("responds_during_stall", true);
  }
  return out;
}

HttpResponse Api::Info() {
  HttpResponse response;
  {
    JsonObjectWriter writer(&response.body);
    writer.String("protocol", kProtocolVersion);
    writer.Raw("agent", std::string(R"({"kind":"native","version":")") + kAgentVersion + "\"}");
    writer.String("rocksdb_version", rocksdb::GetRocksVersionAsString(true));
    if (!process_.rocksdb_build_id.empty()) writer.String("rocksdb_build_id", process_.rocksdb_build_id);
    writer.String("host", process_.host);
    writer.Integer("pid", process_.pid);
    writer.String("program", process_.program);
    writer.String("user", process_.user);
    writer.Raw("capabilities", CapabilitiesJson(true, process_.added_statistics, process_.write_latency, true));
  }
  return response;
}

HttpResponse Api::Databases() {
  HttpResponse response;
  response.body = R"({"databases":[)";
  bool first = true;
  for (const auto& database : registry_->All()) {
    if (!first) response.body += ',';
    first = false;
    response.body += DatabaseMembers(*database.session);
  }
  response.body += "]}";
  return response;
}

}  // namespace adocd
