// chorus studio from outside: it says where it is, answers there, and ends when it is interrupted.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "tests/cli/tool.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The reply of 127.0.0.1:port to `request`.
std::string AskServer(int port, const std::string& request) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string reply;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
      send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    char buffer[4096];
    for (ssize_t some = 0; (some = recv(fd, buffer, sizeof(buffer), 0)) > 0;) {
      reply.append(buffer, static_cast<std::size_t>(some));
    }
  }
  close(fd);
  return reply;
}

TEST(Studio, SaysWhereItIsAndEndsWhenItIsInterrupted) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execl(CHORUS_TOOL, CHORUS_TOOL, "studio", "--port", "0", nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::string said;
  char c = 0;
  while (said.find("ends it.\n") == std::string::npos && read(ends[0], &c, 1) == 1) said += c;
  ASSERT_THAT(said, StartsWith("http://127.0.0.1:"));
  const int port = std::atoi(said.c_str() + std::string("http://127.0.0.1:").size());

  EXPECT_THAT(AskServer(port,
                        "GET /api/hardware?name=h100 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                        "Connection: close\r\n\r\n"),
              HasSubstr("NVIDIA H100"));
  EXPECT_THAT(
      AskServer(port, "GET / HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n"),
      StartsWith("HTTP/1.1 403"));
  ExpectBadInput(
      {"studio", "--port", std::to_string(port)},
      "port " + std::to_string(port) + " of 127.0.0.1 is in use; give another, as --port " +
          std::to_string(port < 65535 ? port + 1 : 8733) + ", or --port 0 for one that is free");

  kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  close(ends[0]);
}

TEST(Studio, BadInputSaysWhatWouldBeRight) {
  ExpectBadInput({"studio", "--port", "70000"},
                 "--port 70000 is out of range; give 1 to 65535, or 0 for one that is free");
  EXPECT_EQ(RunTool({"studio", "--port", "abc"}).err,
            "chorus studio: --port abc is no number that it takes; see chorus studio --help\n");
  ExpectBadInput({"studio", "--port", "0", "--runs", "/is/not/there"},
                 "--runs /is/not/there is no folder; give one that is there");
}

}  // namespace
}  // namespace chorus
