#include "server.h"

#include <cerrno>
#include <chrono>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "connection.h"
#include "fork_generation.h"
#include "open_sockets.h"
#include "thread.h"

namespace adocd {
namespace {

constexpr auto kMemoryRetry = std::chrono::milliseconds(10);

std::chrono::nanoseconds Seconds(double seconds) {
  return std::chrono::nanoseconds(static_cast<int64_t>(std::max(0.0, seconds) * 1e9));
}

}  // namespace

void Server::Start(int listening_fd) {
  acceptor_.assign(Protocol(), listening_fd);
  WaitForClient();
  thread_ = StartThread("adocd-http", [this] {
    const auto work = boost::asio::make_work_guard(io_);  // so that only Stop ends it
    while (!io_.stopped()) {
      try {
        if (TryToWaitForClient()) {
          io_.run();
        } else {
          io_.run_for(kMemoryRetry);  // timers must fire meanwhile
        }
      } catch (...) {
        // Out of memory in one handler: the others must continue, when there may be some again.
        std::this_thread::sleep_for(kMemoryRetry);
      }
    }
  });
}

void Server::Stop() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

void Server::CloseSockets() {
  open_sockets::Remove(open_sockets::Identify(acceptor_.native_handle()));
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  std::vector<std::shared_ptr<Connection>> open;
  for (const auto* list : {&connections_, &strangers_}) {
    for (const auto& weak : *list) {
      if (auto connection = weak.lock()) open.push_back(std::move(connection));
    }
  }
  for (const auto& connection : open) connection->Close();
}

void Server::Post(std::function<void()> action) { boost::asio::post(io_, std::move(action)); }

void Server::After(double delay_s, std::function<void()> action) {
  auto timer = std::make_shared<boost::asio::steady_timer>(io_, Seconds(delay_s));
  timer->async_wait([timer, action = std::move(action)](boost::system::error_code error) {
    if (!error) action();
  });
}

void Server::SetTimer(const std::string& key, double delay_s, std::function<void()> action) {
  auto& slot = timers_[key];
  auto timer = std::make_unique<boost::asio::steady_timer>(io_, Seconds(delay_s));
  timer->async_wait([this, key, raw = timer.get(), action = std::move(action)](boost::system::error_code error) {
    const auto current = timers_.find(key);
    if (error || current == timers_.end() || current->second.get() != raw) return;
    timers_.erase(current);
    action();
  });
  slot = std::move(timer);  // not before it waits: out of memory, the one before must stay
}

void Server::WaitForClient() {
  if (waits_for_client_ || !acceptor_.is_open()) return;
  acceptor_.async_wait(Protocol::acceptor::wait_read, [this](boost::system::error_code error) {
    waits_for_client_ = false;
    if (error == boost::asio::error::operation_aborted) return;
    AcceptOne();
  });
  waits_for_client_ = true;
}

bool Server::TryToWaitForClient() {
  try {
    WaitForClient();
    return true;
  } catch (...) {
    return false;
  }
}

void Server::AcceptOne() {
  int fd = -1;
  {
    // accept4 instead of asio's accept: the socket must be close-on-exec and known to the fork handlers from the start.
    const std::lock_guard<std::mutex> lock(g_process_mutex);
    fd = accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0 && !open_sockets::AddLocked(fd)) {
      close(fd);
      fd = -1;
      errno = EAGAIN;
    }
  }
  if (fd < 0) {
    const bool transient = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    return transient ? WaitForClient() : PauseAccepting();  // out of descriptors: do not spin
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  Serve(fd, known && allow_(peer.uid));
  WaitForClient();
}

void Server::Serve(int fd, bool allowed) {
  const auto known = open_sockets::Identify(fd);
  bool owned = false;  // by a socket, which closes the descriptor
  try {
    Protocol::socket socket(io_);
    boost::system::error_code error = boost::asio::error::no_buffer_space;  // closes it without an answer
    if (allowed) MakeRoom();
    if (allowed || strangers_.size() < kMaxStrangers) socket.assign(Protocol(), fd, error);
    owned = !error;
    if (owned) {
      auto connection = std::make_shared<Connection>(this, std::move(socket), allowed);
      (allowed ? connections_ : strangers_).push_back(connection);
      return connection->Start();
    }
  } catch (...) {
    // Out of memory: this client is lost, the next is served.
  }
  open_sockets::Remove(known);
  if (!owned) close(fd);
}

void Server::PauseAccepting() {
  After(0.1, [this] { WaitForClient(); });
}

void Server::MakeRoom() {
  if (connections_.size() < kMaxConnections) return;
  // Idle clients must not keep others out: close the one that has been idle longest, else the oldest.
  std::shared_ptr<Connection> longest_idle;
  for (const auto& weak : connections_) {
    const auto connection = weak.lock();
    if (connection && (!longest_idle || connection->idle_since_s() < longest_idle->idle_since_s())) {
      longest_idle = connection;
    }
  }
  if (longest_idle) longest_idle->Close();
}

void Server::Closed(const Connection* connection) {
  for (auto* list : {&connections_, &strangers_}) {
    list->remove_if([&](const std::weak_ptr<Connection>& weak) {
      const auto other = weak.lock();
      return !other || other.get() == connection;
    });
  }
}

}  // namespace adocd
