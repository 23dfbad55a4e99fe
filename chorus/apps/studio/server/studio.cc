#include "chorus/apps/studio/server/studio.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "chorus/apps/studio/server/address.h"
#include "chorus/apps/studio/server/http_server.h"

extern char** environ;

namespace chorus::studio {
namespace {

Status CheckFolder(const std::string& folder, const std::string& option) {
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return OkStatus();
  return NotFound(fmt::format("{} {} is no folder; give one that is there", option, folder));
}

// Starts the browser of the desktop and does not wait for it.
void Open(const std::string& address) {
  std::string program = "xdg-open", argument = address;
  char* arguments[] = {program.data(), argument.data(), nullptr};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  // What it tries and does not find is not for the terminal, and neither is a browser of text.
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (int fd = 0; fd <= 2; ++fd) {
    posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
  }
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), &files, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  const auto say = [](const char* why) {
    fmt::print(stderr, "chorus: no browser was opened ({}); open the address yourself\n", why);
  };
  if (error != 0) {
    say("there is no xdg-open");
    return;
  }
  std::thread([child, say] {
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) say("xdg-open found none");
  }).detach();
}

}  // namespace

Status RunStudio(const StudioOptions& options) {
  CHORUS_RETURN_IF_ERROR(CheckFolder(options.runs, "--runs"));
  CHORUS_RETURN_IF_ERROR(CheckFolder(options.pages, "--pages"));
  // Many threads with heaps of their own would keep what they have freed.
  mallopt(M_ARENA_MAX, 2);
  // Before any thread is made, so that only `interrupt` takes these.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  const ServedHost host = ServedHostOf(options.host);
  HandlerOptions handler{AllEndpoints({options.version, options.runs}), options.pages, host.names,
                         host.others};
  CHORUS_ASSIGN_OR_RETURN(const std::unique_ptr<HttpServer> server,
                          HttpServer::Bind(std::move(handler), host.bind, options.port));
  const std::vector<std::string> addresses = AddressesOf(host, server->port());
  if (host.others) {
    fmt::print(stderr,
               "chorus: every machine that reaches {} can ask this server; without --host only "
               "this machine can\n",
               options.host);
  }
  fmt::print("{}\nCtrl-C ends it.\n", fmt::join(addresses, "\n"));
  std::fflush(stdout);
  std::promise<void> ended;
  std::thread interrupt([&ends, &server, &ended] {
    int signal = 0;
    sigwait(&ends, &signal);
    // A second one ends the process, whatever it does: this thread takes it until all is done.
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
    server->Stop();
    ended.get_future().wait();
  });
  if (options.open) Open(addresses.front());
  server->Run();
  ended.set_value();
  interrupt.join();
  return OkStatus();
}

}  // namespace chorus::studio
