#include "chorus/apps/studio/server/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

namespace chorus::studio {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The interface, and a question that is answered when hell freezes over.
std::vector<Endpoint> EndpointsAndOneThatSleeps() {
  std::vector<Endpoint> endpoints = AllEndpoints({"0.1.0", ""});
  endpoints.push_back({"sleep", "Sleeps", {}, [](const Fields&) -> Result<Json> {
                         for (;;) sleep(1000);
                       }});
  endpoints.back().takes_long = true;
  return endpoints;
}

// A server of its own port, in a thread.
class RunningServer {
 public:
  RunningServer() {
    Result<std::unique_ptr<HttpServer>> server =
        HttpServer::Bind({EndpointsAndOneThatSleeps(), "", {}, false}, "127.0.0.1", 0);
    EXPECT_TRUE(server.ok()) << server.status().ToString();
    server_ = *std::move(server);
    thread_ = std::thread([this] { server_->Run(); });
  }
  ~RunningServer() { Stop(); }

  void Stop() {
    if (!thread_.joinable()) return;
    server_->Stop();
    thread_.join();
  }
  int port() const { return server_->port(); }

 private:
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

// A connection, closed at the end.
class Client {
 public:
  explicit Client(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    timeval limit{60, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  void Send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void EndSending() const { shutdown(fd_, SHUT_WR); }
  // All until the other side closes.
  std::string Read() const {
    std::string text;
    char buffer[16384];
    for (;;) {
      const ssize_t some = recv(fd_, buffer, sizeof(buffer), 0);
      if (some <= 0) return text;
      text.append(buffer, static_cast<std::size_t>(some));
    }
  }

 private:
  int fd_;
  bool connected_ = false;
};

std::string Ask(int port, const std::string& name, const std::string& body) {
  const Client client(port);
  client.Send("POST /api/" + name + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" +
              "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  return client.Read();
}

constexpr const char* kLayout = R"({"mesh": "X=4,Y=8", "spec": "A[I_X, J_Y]", "dims": "I=5,J=70"})";

// What of this process lies in memory.
std::int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(HttpServer, AnswersOverASocket) {
  const RunningServer server;
  const std::string reply = Ask(server.port(), "layout", kLayout);
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(reply, HasSubstr("Content-Security-Policy: default-src 'self'"));
  EXPECT_THAT(reply, HasSubstr("\"total_bytes\":1400"));
  EXPECT_THAT(Ask(server.port(), "layout", "{}"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Ask(server.port(), "layout", std::string(70'000, ' ')),
              testing::AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("larger than 64 KiB")));
}

TEST(HttpServer, WhatIsNoRequestIsRefused) {
  const RunningServer server;
  for (const char* text :
       {"\r\n\r\n", "nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET  HTTP/1.1\r\n\r\n",
        "POST /api/layout HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
        "POST /api/layout HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999999\r\n\r\n",
        "POST /api/layout HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "DELETE / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"}) {
    const Client client(server.port());
    client.Send(text);
    client.EndSending();
    const std::string reply = client.Read();
    EXPECT_TRUE(reply.empty() || reply.compare(0, 10, "HTTP/1.1 4") == 0) << text << "\n"
                                                                          << reply.substr(0, 300);
  }
  EXPECT_THAT(Ask(server.port(), "layout", kLayout), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, HalfRequestsHoldUpNobodyAndStopEndsThem) {
  RunningServer server;
  std::vector<std::unique_ptr<Client>> halves;
  for (int i = 0; i < 60; ++i) {
    halves.push_back(std::make_unique<Client>(server.port()));
    halves.back()->Send("POST /api/layout HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le");
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(Ask(server.port(), "layout", kLayout), StartsWith("HTTP/1.1 200"));
  server.Stop();
  // Both before any half request runs into its limit of 5 seconds, on a machine of any speed the
  // request does not wait for 60 of them one after another.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

// More than there may be connections: the oldest ones give way.
TEST(HttpServer, AThousandHalfRequestsHoldUpNobody) {
  rlimit files{};  // both ends are open here
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < 3000) GTEST_SKIP() << "of files only " << files.rlim_max << " may be open";
  files.rlim_cur = std::max<rlim_t>(files.rlim_cur, 3000);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  const RunningServer server;
  std::vector<std::unique_ptr<Client>> halves;
  for (int i = 0; i < 1000; ++i) {
    halves.push_back(std::make_unique<Client>(server.port()));
    EXPECT_TRUE(halves.back()->connected());
    halves.back()->Send("POST /api/layout HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le");
  }
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(Ask(server.port(), "layout", kLayout), StartsWith("HTTP/1.1 200"));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("five questions beside 1000 half ones: %.3f s\n", took.count());
  // The half ones are given up after 3 s, so who waits for that waits 3 s; without load it is 0.01.
  EXPECT_LT(took.count(), 3 * 5);
  EXPECT_EQ(halves.front()->Read(), "");  // ended, and not for having been silent too long
}

// A byte now and then keeps no connection.
TEST(HttpServer, ARequestThatIsTooLongIsEnded) {
  const RunningServer server;
  const Client client(server.port());
  client.Send("POST /api/layout HTTP/1.1\r\nHost: 127.0.0.1\r\n");
  const std::string header = "A: " + std::string(4000, 'a') + "\r\n";
  for (int i = 0; i < 400; ++i) client.Send(header);  // 1.6 MB, of which 1 MiB is read
  EXPECT_THAT(client.Read(), Not(HasSubstr("HTTP/1.1 200")));
  EXPECT_THAT(Ask(server.port(), "layout", kLayout), StartsWith("HTTP/1.1 200"));
}

// More than there are slots and cores: some work, others wait for them.
TEST(HttpServer, LongQuestionsHoldUpNoShortOnesAndStopEndsThem) {
  RunningServer server;
  std::vector<std::unique_ptr<Client>> long_ones;
  for (int i = 0; i < 20; ++i) {
    long_ones.push_back(std::make_unique<Client>(server.port()));
    long_ones.back()->Send(
        "POST /api/sleep HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}");
  }
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(Ask(server.port(), "layout", kLayout), StartsWith("HTTP/1.1 200"));
  }
  server.Stop();
  // One after another the long ones would take their 5 seconds and their waits of 10.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(HttpServer, WhoLeavesEndsWhatHeAskedFor) {
  const RunningServer server;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    const Client client(server.port());
    client.Send("POST /api/sleep HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}");
  }
  // It gets a slot, which the hundred do not keep for 5 seconds each. (A machine under load may
  // take those 5 seconds to answer it, which is no matter here.)
  std::string reply;
  for (int i = 0; i < 5 && reply.rfind("HTTP/1.1 200", 0) != 0; ++i) {
    reply =
        Ask(server.port(), "estimate", R"({"op": "all_reduce", "bytes": "16GB", "on": "h100-8"})");
    EXPECT_THAT(reply, Not(StartsWith("HTTP/1.1 503")));
  }
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(100));
}

TEST(HttpServer, APortInUseIsNamed) {
  const RunningServer server;
  const auto second =
      HttpServer::Bind({AllEndpoints({"0.1.0", ""}), "", {}, false}, "127.0.0.1", server.port());
  EXPECT_THAT(second.status().message(),
              HasSubstr("port " + std::to_string(server.port()) + " of 127.0.0.1 is in use"));
  EXPECT_THAT(HttpServer::Bind({AllEndpoints({"0.1.0", ""}), "", {}, true}, "192.0.2.1", 0)
                  .status()
                  .message(),
              HasSubstr("--host 192.0.2.1 cannot be bound"));
}

TEST(HttpServer, TwoHundredAtOnceLeaveNoMemoryBehind) {
  const RunningServer server;
  const auto round = [&server] {
    std::atomic<int> right = 0;
    std::vector<std::thread> askers;
    for (int i = 0; i < 200; ++i) {
      askers.emplace_back([&] {
        const std::string reply = Ask(server.port(), "layout", kLayout);
        if (reply.compare(0, 12, "HTTP/1.1 200") == 0) ++right;
      });
    }
    for (std::thread& asker : askers) asker.join();
    EXPECT_EQ(right, 200);
    malloc_trim(0);
    return ResidentBytes();
  };
  std::int64_t before = 0;
  for (int i = 0; i < 3; ++i) before = std::max(before, round());
  std::int64_t after = 0;
  for (int i = 0; i < 3; ++i) after = round();
  std::printf("resident: %.1f MiB after 600 requests, %.1f MiB after 1200\n",
              static_cast<double>(before) / 1048576, static_cast<double>(after) / 1048576);
#if !defined(__SANITIZE_ADDRESS__)  // which keeps what is freed for a while
  EXPECT_LT(after, before + 8 * 1048576);
#endif
}

}  // namespace
}  // namespace chorus::studio
