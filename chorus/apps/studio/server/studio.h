// chorus studio: serves the pages and the JSON interface until it is interrupted. Start here.
#pragma once

#include <string>

#include "chorus/base/status.h"

namespace chorus::studio {

inline constexpr int kStudioPort = 8733;

struct StudioOptions {
  std::string version;             // of the tool
  std::string host = "127.0.0.1";  // a name or an address of this machine
  int port = kStudioPort;          // 0: one that is free
  bool open = false;               // opens a browser
  std::string runs;                // the folder of the page Runs; "": none
  std::string pages;               // a folder instead of the built-in pages; "": those
};

// Prints the address on standard output and returns when the process is interrupted (SIGINT,
// SIGTERM). Lowers the process's limit of open files to 1000. Errors: as HttpServer::Bind; a folder
// that is none.
Status RunStudio(const StudioOptions& options);

}  // namespace chorus::studio
