#include "chorus/apps/studio/server/studio.h"

#include <fmt/format.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "chorus/apps/studio/server/http_server.h"

extern char** environ;

namespace chorus::studio {
namespace {

Status CheckFolder(const std::string& folder, const std::string& option) {
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return OkStatus();
  return NotFound(fmt::format("{} {} is no folder; give one that is there", option, folder));
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.compare(0, 4, "127.") == 0;
}

// The library waits for bytes with select, which knows 1024 files; more are not opened.
void LimitFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, 1000);
  setrlimit(RLIMIT_NOFILE, &limit);
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
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), nullptr, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    fmt::print(stderr,
               "chorus: no browser was opened (there is no xdg-open); open the address "
               "yourself\n");
    return;
  }
  std::thread([child] { waitpid(child, nullptr, 0); }).detach();
}

}  // namespace

Status RunStudio(const StudioOptions& options) {
  CHORUS_RETURN_IF_ERROR(CheckFolder(options.runs, "--runs"));
  CHORUS_RETURN_IF_ERROR(CheckFolder(options.pages, "--pages"));
  LimitFiles();
  // Many threads with heaps of their own would keep what they have freed.
  mallopt(M_ARENA_MAX, 2);
  // Before any thread is made, so that only `interrupt` takes these.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  const bool others = !IsLoopback(options.host);
  HandlerOptions handler{{options.version, options.runs}, options.pages, options.host, others};
  CHORUS_ASSIGN_OR_RETURN(const std::unique_ptr<HttpServer> server,
                          HttpServer::Bind(std::move(handler), options.host, options.port));
  const bool six = options.host.find(':') != std::string::npos;
  const std::string address =
      fmt::format("http://{}:{}/", six ? "[" + options.host + "]" : options.host, server->port());
  if (others) {
    fmt::print(stderr,
               "chorus: every machine that reaches {} can ask this server; without --host only "
               "this machine can\n",
               options.host);
  }
  fmt::print("{}\nCtrl-C ends it.\n", address);
  std::fflush(stdout);
  std::thread interrupt([&ends, &server] {
    int signal = 0;
    sigwait(&ends, &signal);
    server->Stop();
  });
  if (options.open) Open(address);
  server->Run();
  interrupt.join();
  return OkStatus();
}

}  // namespace chorus::studio
