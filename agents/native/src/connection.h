#pragma once
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "http_message.h"
#include "open_sockets.h"

namespace adocd {

class Server;

// One client: reads a request, passes it on, writes the answer, and repeats. A client without permission is told so at
// once. Used only on the http thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Protocol = boost::asio::local::stream_protocol;

  Connection(Server* server, Protocol::socket socket, bool allowed);
  ~Connection();

  void Start();
  void Close();
  // When it last became idle; infinity while it answers a request.
  double idle_since_s() const { return idle_since_s_; }

 private:
  using Stream = boost::beast::basic_stream<Protocol>;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;

  void Forget();
  void WaitForRequest();
  void ReadHeader();
  void HeaderRead(boost::beast::error_code error);
  void Continue();
  void ReadBody();
  void Dispatch();
  void Fail(boost::beast::error_code error);
  void Write(const HttpResponse& response, bool keep_alive);
  void Drain();
  void DrainSome();

  Server* const server_;
  Stream stream_;
  const open_sockets::OpenSocket open_socket_;
  const bool allowed_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  Response response_;
  std::shared_ptr<Connection> answering_;  // itself, to stay alive while it answers a request
  bool head_ = false;
  int drained_ = 0;
  double idle_since_s_ = 0;
  char discard_[4096];
};

}  // namespace adocd
