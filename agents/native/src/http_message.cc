#include "http_message.h"

#include "json_text.h"

namespace adocd {

const char* StatusTitle(int status) {
  switch (status) {
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 422: return "Unprocessable Content";
    case 503: return "Service Unavailable";
    default: return "Internal Server Error";
  }
}

HttpResponse ProblemResponse(const Problem& problem) {
  HttpResponse response;
  response.status = problem.status;
  response.content_type = "application/problem+json";
  {
    JsonObjectWriter writer(&response.body);
    writer.String("type", "about:blank");
    writer.String("title", StatusTitle(problem.status));
    writer.Integer("status", problem.status);
    writer.String("detail", problem.detail);
    writer.String("code", problem.code);
    if (!problem.holder.empty()) writer.String("holder", problem.holder);
    if (!problem.option.empty()) writer.String("option", problem.option);
  }
  return response;
}

}  // namespace adocd
