#pragma once
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include "http_message.h"

namespace adocd {

class Connection;

// Serves HTTP on one listening Unix socket, on one thread that never blocks.
class Server : public Scheduler {
 public:
  using Handler = std::function<void(const HttpRequest&, Reply)>;
  using Allow = std::function<bool(unsigned uid)>;

  // With those of the requests that wait (Api::kMaxWaiting).
  static constexpr size_t kMaxConnections = 48;
  // Limits connections of clients without permission, which only get a refusal. kMaxConnections excludes them.
  static constexpr size_t kMaxStrangers = 4;

  Server(Handler handler, Allow allow) : handler_(std::move(handler)), allow_(std::move(allow)) {}

  // Takes ownership of `listening_fd`, which must be non-blocking. If this throws, the caller owns the descriptor
  // again, and must never destroy the server.
  void Start(int listening_fd);
  // Ends the thread; call it once, from another thread.
  void Stop();
  // Closes the listening socket and all connections, after Stop.
  void CloseSockets();

  void Post(std::function<void()> action) override;
  void After(double delay_s, std::function<void()> action) override;
  void SetTimer(const std::string& key, double delay_s, std::function<void()> action) override;

  const Handler& handler() const { return handler_; }
  void Closed(const Connection* connection);

 private:
  using Protocol = boost::asio::local::stream_protocol;

  // Does nothing while it waits already.
  void WaitForClient();
  // Returns false without memory.
  bool TryToWaitForClient();
  void AcceptOne();
  void Serve(int fd, bool allowed);
  void PauseAccepting();
  void MakeRoom();

  boost::asio::io_context io_{1};
  Protocol::acceptor acceptor_{io_};
  bool waits_for_client_ = false;
  Handler handler_;
  Allow allow_;
  std::list<std::weak_ptr<Connection>> connections_;  // oldest first
  std::list<std::weak_ptr<Connection>> strangers_;
  std::map<std::string, std::unique_ptr<boost::asio::steady_timer>> timers_;
  std::thread thread_;
};

}  // namespace adocd
