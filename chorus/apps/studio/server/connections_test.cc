#include "chorus/apps/studio/server/connections.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace chorus::studio {
namespace {

// A socket, and the other side of it, which sees whether it was ended.
class SocketPair {
 public:
  SocketPair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()), 0); }
  ~SocketPair() {
    for (const int fd : ends_) close(fd);
  }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;

  int fd() const { return ends_[0]; }
  bool IsEnded() const {
    char byte = 0;
    return recv(ends_[1], &byte, 1, MSG_DONTWAIT) == 0;
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

TEST(Connections, OneTooManyEndsTheOneThatWaitsLongest) {
  const SocketPair a, b, c, d;
  Connections connections(2);
  connections.Add(a.fd());
  connections.Add(b.fd());
  EXPECT_FALSE(a.IsEnded());
  connections.Add(c.fd());
  EXPECT_TRUE(a.IsEnded());
  EXPECT_FALSE(b.IsEnded());
  connections.Waits(b.fd());  // it has just had its answer: c waits longer
  connections.Add(d.fd());
  EXPECT_TRUE(c.IsEnded());
  EXPECT_FALSE(b.IsEnded());
  EXPECT_FALSE(d.IsEnded());
}

TEST(Connections, WhoIsAnsweredIsNotEnded) {
  const SocketPair a, b, c;
  Connections connections(1);
  connections.Add(a.fd());
  connections.IsAnswered(a.fd());
  connections.Add(b.fd());
  EXPECT_FALSE(a.IsEnded());
  EXPECT_FALSE(b.IsEnded());
  connections.Waits(a.fd());  // for its answer to be taken
  EXPECT_FALSE(a.IsEnded());
  EXPECT_TRUE(b.IsEnded());
  connections.Remove(a.fd());
  connections.Add(c.fd());
  EXPECT_FALSE(c.IsEnded());
}

TEST(Connections, EndAllEndsThoseToComeToo) {
  const SocketPair a, b, c;
  Connections connections(9);
  connections.Add(a.fd());
  connections.Add(b.fd());
  connections.IsAnswered(b.fd());
  connections.EndAll();
  connections.Add(c.fd());
  EXPECT_TRUE(a.IsEnded());
  EXPECT_TRUE(b.IsEnded());
  EXPECT_TRUE(c.IsEnded());
}

}  // namespace
}  // namespace chorus::studio
