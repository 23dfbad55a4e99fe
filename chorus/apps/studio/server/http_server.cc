#include "chorus/apps/studio/server/http_server.h"

#include <fmt/format.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace chorus::studio {
namespace {

constexpr int kMostConnections = 900;  // at once; others wait to be accepted
constexpr int kSecondsWithoutByte = 3;
constexpr int kBacklog = 256;
constexpr int kMostFd = 1024;  // the library waits with select, which knows no more

// One thread a connection, made when there is none to spare and ended when there is nothing to do.
class ConnectionThreads : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> fn) override {
    const std::lock_guard lock(state_->mutex);
    state_->jobs.push_back(std::move(fn));
    if (state_->idle >= static_cast<int>(state_->jobs.size()) ||
        state_->threads >= kMostConnections) {
      state_->changed.notify_one();
      return;
    }
    ++state_->threads;
    std::thread([state = state_] { Work(*state); }).detach();
  }

  void shutdown() override {
    std::unique_lock lock(state_->mutex);
    state_->ends = true;
    state_->changed.notify_all();
    state_->changed.wait(lock, [this] { return state_->threads == 0; });
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    // Guarded by mutex.
    std::deque<std::function<void()>> jobs;
    int threads = 0;
    int idle = 0;
    bool ends = false;
  };

  static void Work(State& state) {
    std::unique_lock lock(state.mutex);
    for (;;) {
      ++state.idle;
      state.changed.wait_for(lock, std::chrono::seconds(2),
                             [&state] { return !state.jobs.empty() || state.ends; });
      --state.idle;
      if (state.jobs.empty()) break;
      std::function<void()> job = std::move(state.jobs.front());
      state.jobs.pop_front();
      lock.unlock();
      job();
      job = nullptr;
      lock.lock();
    }
    --state.threads;
    state.changed.notify_all();
  }

  std::shared_ptr<State> state_ = std::make_shared<State>();  // outlives the last thread
};

// The ports of both ends of a socket; -1 if it is none.
struct SocketPorts {
  int own = -1;
  int other = -1;
};

int PortIn(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  }
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }
  return -1;
}

SocketPorts PortsOf(int fd) {
  SocketPorts ports;
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return ports;
  ports.own = PortIn(address);
  size = sizeof(address);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return ports;
  ports.other = PortIn(address);
  return ports;
}

// The socket of a request, which the library does not tell: that between these two ports.
int ConnectionBetween(int own, int other) {
  for (int fd = 3; fd < kMostFd; ++fd) {
    const SocketPorts ports = PortsOf(fd);
    if (ports.own == own && ports.other == other) return fd;
  }
  return -1;
}

StudioRequest RequestOf(const httplib::Request& request, int port) {
  StudioRequest r{request.method, request.path};
  r.connection = ConnectionBetween(port, request.remote_port);
  // Not the library's: it ends a name at the last '='.
  const std::size_t question = request.target.find('?');
  if (question != std::string::npos) {
    r.query = ParseQuery(std::string_view(request.target).substr(question + 1));
  }
  r.body = request.body;
  r.host = request.get_header_value("Host");
  r.origin = request.get_header_value("Origin");
  r.fetch_site = request.get_header_value("Sec-Fetch-Site");
  r.if_none_match = request.get_header_value("If-None-Match");
  r.takes_gzip = request.get_header_value("Accept-Encoding").find("gzip") != std::string::npos;
  return r;
}

// As a provider of known length the library sends the bytes as they are; of a body it would make a
// compressed copy each time.
void Send(StudioReply reply, httplib::Response& response) {
  response.status = reply.status;
  for (const auto& [name, value] : reply.headers) response.set_header(name, value);
  const auto owned = std::make_shared<const std::string>(std::move(reply.body));
  const std::string_view bytes = reply.lasting.empty() ? std::string_view(*owned) : reply.lasting;
  if (bytes.empty()) return;
  response.set_content_provider(
      bytes.size(), reply.content_type,
      [owned, bytes](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        return sink.write(bytes.data() + offset, length);
      });
}

}  // namespace

// Named, since HttpServer::Impl holds one.
class Listener : public httplib::Server {
 public:
  // The library asks for a queue of 5 connections, which is soon full.
  void Lengthen() const { ::listen(svr_sock_, kBacklog); }
};

class HttpServer::Impl {
 public:
  explicit Impl(HandlerOptions options) : handler_(std::move(options)) {
    const auto answer = [this](const httplib::Request& request, httplib::Response& response) {
      Send(handler_.Handle(RequestOf(request, port_)), response);
    };
    server_.Options(".*", answer);
    server_.Get(".*", answer);
    server_.Post(".*", answer);
    server_.Put(".*", answer);
    server_.Patch(".*", answer);
    server_.Delete(".*", answer);
    // What the library itself refuses: a body or an address that is too long, half a header.
    server_.set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (!response.body.empty() || response.content_length_ > 0) return;
      const char* why = response.status == 413   ? "the request is larger than 64 KiB"
                        : response.status == 414 ? "the address is longer than 8 KiB; use POST"
                                                 : "this is no request of HTTP/1.1";
      response.set_content(answer::Json{{"error", why}}.dump(), "application/json");
    });
    server_.set_payload_max_length(kMostBody);
    server_.set_read_timeout(kSecondsWithoutByte);
    server_.set_write_timeout(kSecondsWithoutByte);
    server_.set_keep_alive_timeout(kSecondsWithoutByte);
    server_.set_keep_alive_max_count(1000);
    server_.set_tcp_nodelay(true);
    // Not SO_REUSEPORT, with which two servers would share a port and get half of the requests.
    server_.set_socket_options([](int socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    server_.new_task_queue = [] { return new ConnectionThreads; };
  }

  bool Bind(const std::string& host, int port) {
    if (port == 0) {
      port_ = server_.bind_to_any_port(host);
    } else {
      port_ = server_.bind_to_port(host, port) ? port : -1;
    }
    if (port_ > 0) server_.Lengthen();
    return port_ > 0;
  }

  int port() const { return port_; }

  void Run() { server_.listen_after_bind(); }

  void Stop() {
    handler_.Stop();
    server_.stop();
    // A thread that waits for the next byte of its connection sees its end.
    for (int fd = 3; fd < kMostFd; ++fd) {
      if (PortsOf(fd).own == port_) ::shutdown(fd, SHUT_RDWR);
    }
  }

 private:
  Handler handler_;
  Listener server_;
  int port_ = -1;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::Bind(HandlerOptions options,
                                                     const std::string& host, int port) {
  auto impl = std::make_unique<Impl>(std::move(options));
  errno = 0;
  if (!impl->Bind(host, port)) {
    if (errno == EADDRINUSE) {
      return InvalidArgument(fmt::format(
          "port {} of {} is in use; give another, as --port {}, or --port 0 for one that is free",
          port, host, port < 65535 ? port + 1 : 8733));
    }
    if (errno == EACCES) {
      return InvalidArgument(
          fmt::format("port {} needs root; give one above 1023, as --port 8733", port));
    }
    return InvalidArgument(
        fmt::format("--host {} cannot be bound ({}); give an address of this "
                    "machine, as 127.0.0.1",
                    host, errno != 0 ? std::strerror(errno) : "no such host"));
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

int HttpServer::port() const { return impl_->port(); }
void HttpServer::Run() { impl_->Run(); }
void HttpServer::Stop() { impl_->Stop(); }

}  // namespace chorus::studio
