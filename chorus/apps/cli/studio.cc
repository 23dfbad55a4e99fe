#include "chorus/apps/cli/studio.h"

#include <memory>

#include "chorus/apps/studio/server/studio.h"

namespace chorus::cli {
namespace {

Status Run(const studio::StudioOptions& o) {
  if (o.port < 0 || o.port > 65535) {
    return InvalidArgument("--port " + std::to_string(o.port) +
                           " is out of range; give 1 to 65535, or 0 for one that is free");
  }
  return studio::RunStudio(o);
}

}  // namespace

void AddStudio(CLI::App& app, Outcome& outcome) {
  auto o = std::make_shared<studio::StudioOptions>();
  o->version = CHORUS_VERSION;
  CLI::App* command =
      app.add_subcommand("studio", "Serve pages that show collectives, layouts and costs");
  command->add_option("--port", o->port, "Port (default 8733; 0: one that is free)");
  command->add_option("--host", o->host,
                      "Address to serve (default 127.0.0.1: only this machine asks)");
  command->add_flag("--open", o->open, "Open a browser");
  command->add_option("--runs", o->runs, "Folder whose results the page Runs shows");
  command->add_option("--pages", o->pages, "Serve this folder instead of the built-in pages");
  command->footer(
      "Ctrl-C ends it. The interface is described in docs/studio.md.\n"
      "Examples:\n"
      "  chorus studio --open\n"
      "  chorus studio --port 0 --runs results/");
  command->callback([o, &outcome] { outcome.status = Run(*o); });
}

}  // namespace chorus::cli
