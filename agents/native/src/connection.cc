#include "connection.h"

#include <chrono>
#include <limits>

#include "clock.h"
#include "server.h"

namespace adocd {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr auto kIdleLimit = std::chrono::seconds(60);
constexpr auto kTransferLimit = std::chrono::seconds(10);  // for sending a head or body, or reading the answer
constexpr size_t kFirstReadBytes = 4096;
constexpr auto kDrainLimit = std::chrono::seconds(1);
constexpr int kMaxDrains = 1024;
constexpr uint64_t kMaxBodyBytes = 1024 * 1024;
constexpr uint32_t kMaxHeaderBytes = 16 * 1024;
// What is read and not parsed yet: the parser limits bodies and headers, but no chunk's extension or trailer.
constexpr size_t kMaxBufferedBytes = kMaxBodyBytes + kMaxHeaderBytes;

Problem TooLarge() {
  return {413, "too_large", "The body is larger than 1 MiB; send fewer changes at a time.", {}, {}};
}

}  // namespace

Connection::Connection(Server* server, Protocol::socket socket, bool allowed)
    : server_(server), stream_(std::move(socket)), open_socket_(open_sockets::Identify(stream_.socket().native_handle())), allowed_(allowed), buffer_(kMaxBufferedBytes) {}

Connection::~Connection() { Forget(); }

void Connection::Close() {
  stream_.close();
  Forget();  // now, because an answer in progress may keep this object alive for long
}

void Connection::Forget() {
  open_sockets::Remove(open_socket_);
  server_->Closed(this);
}

void Connection::Start() {
  if (allowed_) return WaitForRequest();
  // The request need not be read.
  Write(ProblemResponse({403, "forbidden",
                         "Your user may not talk to this agent; add its uid to ADOCD_ALLOW_UIDS.", {}, {}}),
        false);
}

void Connection::WaitForRequest() {
  idle_since_s_ = MonotonicSeconds();
  if (buffer_.size() > 0) return ReadHeader();
  stream_.expires_after(kIdleLimit);
  stream_.async_read_some(buffer_.prepare(kFirstReadBytes),
                          [self = shared_from_this()](beast::error_code error, size_t count) {
                            if (error) return;
                            self->buffer_.commit(count);
                            self->ReadHeader();
                          });
}

void Connection::ReadHeader() {
  parser_.emplace();
  parser_->body_limit(kMaxBodyBytes);
  parser_->header_limit(kMaxHeaderBytes);
  stream_.expires_after(kTransferLimit);
  http::async_read_header(stream_, buffer_, *parser_,
                          [self = shared_from_this()](beast::error_code error, size_t) { self->HeaderRead(error); });
}

void Connection::HeaderRead(beast::error_code error) {
  if (error) return Fail(error);
  head_ = parser_->get().method() == http::verb::head;
  const auto length = parser_->content_length();
  if (length && *length > kMaxBodyBytes) return Write(ProblemResponse(TooLarge()), false);
  if (beast::iequals(parser_->get()[http::field::expect], "100-continue")) return Continue();
  ReadBody();
}

void Connection::Continue() {
  static constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";
  stream_.expires_after(kTransferLimit);
  boost::asio::async_write(stream_, boost::asio::buffer(kContinue, sizeof kContinue - 1),
                           [self = shared_from_this()](beast::error_code error, size_t) {
                             if (!error) self->ReadBody();
                           });
}

void Connection::ReadBody() {
  if (parser_->is_done()) return Dispatch();
  stream_.expires_after(kTransferLimit);
  http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, size_t) {
    if (error) return self->Fail(error);
    self->Dispatch();
  });
}

void Connection::Dispatch() {
  idle_since_s_ = std::numeric_limits<double>::infinity();
  stream_.expires_never();  // a change may take as long as a stall
  auto& message = parser_->get();
  HttpRequest request{std::string(message.method_string()), std::string(message.target()), std::move(message.body())};
  const bool keep_alive = message.keep_alive();
  // Any thread may call and destroy the reply, but only this thread may destroy a connection.
  answering_ = shared_from_this();
  const auto reply = [server = server_, weak = weak_from_this(), keep_alive](HttpResponse response) {
    server->Post([weak, keep_alive, response = std::move(response)] {
      if (const auto self = weak.lock()) self->Write(response, keep_alive);
    });
  };
  try {
    server_->handler()(request, reply);
  } catch (const std::exception& error) {
    Write(ProblemResponse({500, "internal", std::string("The agent failed: ") + error.what(), {}, {}}), false);
  }
}

void Connection::Fail(beast::error_code error) {
  if (error == http::error::body_limit) return Write(ProblemResponse(TooLarge()), false);
  // An error of the HTTP category means that the data is not HTTP; any other means that the client has left.
  const bool malformed = error.category() == make_error_code(http::error::bad_method).category() &&
                         error != http::error::end_of_stream && error != http::error::partial_message;
  if (!malformed) return;
  Write(ProblemResponse(BadRequest(400, "This is not an HTTP/1.1 request: " + error.message() + ".")), false);
}

void Connection::Write(const HttpResponse& answer, bool keep_alive) {
  const auto self = shared_from_this();
  answering_.reset();
  response_ = Response(static_cast<http::status>(answer.status), 11);
  response_.reason(answer.status >= 400 ? StatusTitle(answer.status) : "");
  response_.set(http::field::content_type, answer.content_type);
  response_.set(http::field::cache_control, "no-store");
  if (!answer.allow.empty()) response_.set(http::field::allow, answer.allow);
  response_.content_length(answer.body.size());
  if (!head_) response_.body() = answer.body;
  response_.keep_alive(keep_alive);
  stream_.expires_after(kTransferLimit);
  http::async_write(stream_, response_, [self, keep_alive](beast::error_code error, size_t) {
    if (error) return;
    if (keep_alive) return self->WaitForRequest();
    self->Drain();
  });
}

// Closing a socket with unread bytes resets the connection, so that a client that is still sending its body could not
// read our answer.
void Connection::Drain() {
  beast::error_code ignored;
  stream_.socket().shutdown(Protocol::socket::shutdown_send, ignored);
  stream_.expires_after(kDrainLimit);
  DrainSome();
}

void Connection::DrainSome() {
  if (++drained_ > kMaxDrains) return;
  stream_.async_read_some(boost::asio::buffer(discard_), [self = shared_from_this()](beast::error_code error, size_t) {
    if (!error) self->DrainSome();
  });
}

}  // namespace adocd
