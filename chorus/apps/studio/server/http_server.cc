#include "chorus/apps/studio/server/http_server.h"

#include <fmt/format.h>
#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "chorus/apps/studio/server/connections.h"

namespace chorus::studio {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostConnections = 900;  // at once; others wait to be accepted
constexpr int kMostThatWait = 400;     // of them for their other side
constexpr std::chrono::seconds kMostWithoutByte(3);
constexpr std::chrono::seconds kMostTransfer(20);  // of a whole request, or of a whole reply
constexpr std::size_t kMostReceived = std::size_t{1} << 20;  // bytes of a request, head and body
constexpr int kMostRequests = 1000;                          // over one connection
constexpr int kBacklog = 256;

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

// A connection as the library reads and writes it. Every wait has an end: for the next byte, and
// for the whole of a request and of a reply. Thread safety: one thread.
class Connection : public httplib::Stream {
 public:
  explicit Connection(int fd) : fd_(fd) {}

  // Waits for the first byte of a request. False if there comes none.
  bool Begin() {
    received_ = 0;
    until_ = Clock::now() + kMostTransfer;
    return begin_ < end_ || Wait(POLLIN);
  }
  // The request is whole; what follows is the reply.
  void BeginReply() { until_ = Clock::now() + kMostTransfer; }

  bool is_readable() const override { return begin_ < end_ || Wait(POLLIN); }
  bool is_writable() const override { return Wait(POLLOUT); }

  ssize_t read(char* to, std::size_t size) override {
    if (begin_ == end_) {
      if (received_ >= kMostReceived || !Wait(POLLIN)) return -1;
      const ssize_t some = ::recv(fd_, buffer_.data(), buffer_.size(), 0);
      if (some <= 0) return some;
      begin_ = 0;
      end_ = static_cast<std::size_t>(some);
      received_ += end_;
    }
    const std::size_t taken = std::min(size, end_ - begin_);
    std::copy_n(buffer_.data() + begin_, taken, to);
    begin_ += taken;
    return static_cast<ssize_t>(taken);
  }

  ssize_t write(const char* from, std::size_t size) override {
    if (!Wait(POLLOUT)) return -1;
    return ::send(fd_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  // Nobody asks for them.
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  socket_t socket() const override { return fd_; }

 private:
  bool Wait(short event) const {
    const Clock::time_point until = std::min(until_, Clock::now() + kMostWithoutByte);
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
      if (left.count() <= 0) return false;
      pollfd wanted{fd_, event, 0};
      const int ready = poll(&wanted, 1, static_cast<int>(left.count()));
      if (ready > 0) return (wanted.revents & event) != 0;
      if (ready < 0 && errno != EINTR) return false;
    }
  }

  const int fd_;
  Clock::time_point until_ = Clock::time_point::max();
  std::size_t received_ = 0;  // of this request
  std::array<char, 4096> buffer_ = {};
  std::size_t begin_ = 0, end_ = 0;  // what is in it and was not read
};

// The connection that this thread serves: the library does not tell which a request came from.
thread_local Connection* served = nullptr;

StudioRequest RequestOf(const httplib::Request& request) {
  StudioRequest r{request.method, request.path};
  r.connection = served->socket();
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

  // Ends the wait for connections, that to come too: stop() does nothing before it has begun.
  void End() {
    const int fd = svr_sock_;
    if (fd >= 0) ::shutdown(fd, SHUT_RDWR);
    stop();
    connections_.EndAll();
  }

  Connections& connections() { return connections_; }

 private:
  // Instead of the library's, which waits with select, and for a request that comes byte by byte
  // without an end.
  bool process_and_close_socket(socket_t fd) override {
    connections_.Add(fd);
    Connection connection(fd);
    served = &connection;
    bool goes_on = true;
    for (int left = kMostRequests; left > 0 && goes_on && connection.Begin(); --left) {
      bool closed = false;
      goes_on = process_request(connection, left == 1, closed, nullptr) && !closed;
      connections_.Waits(fd);
    }
    served = nullptr;
    ::shutdown(fd, SHUT_RDWR);
    connections_.Remove(fd);
    ::close(fd);
    return goes_on;
  }

  Connections connections_{kMostThatWait};
};

class HttpServer::Impl {
 public:
  explicit Impl(HandlerOptions options) : handler_(std::move(options)) {
    const auto answer = [this](const httplib::Request& request, httplib::Response& response) {
      server_.connections().IsAnswered(served->socket());
      Send(handler_.Handle(RequestOf(request)), response);
      served->BeginReply();
      server_.connections().Waits(served->socket());
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
    server_.End();
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
