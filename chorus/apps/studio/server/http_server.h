// HttpServer: the Handler behind a socket. HTTP is named in http_server.cc alone.
//
// Every connection has a thread while it is open, so one that is slow or stops half-way holds up no
// other; it is closed after some seconds without a byte, and if a whole request or reply takes
// long. Of those that wait for their other side so many are kept, the newest ones. Thread safety:
// Stop from any thread, the rest from one.
#pragma once

#include <memory>
#include <string>

#include "chorus/apps/studio/server/handler.h"
#include "chorus/base/status.h"

namespace chorus::studio {

class HttpServer {
 public:
  // Binds `host` (a name or an address) and `port`, 0 for one that is free. Errors: a port in use
  // and a host that is none of this machine's, each naming it.
  static Result<std::unique_ptr<HttpServer>> Bind(HandlerOptions options, const std::string& host,
                                                  int port);
  ~HttpServer();

  int port() const;
  // Answers until Stop. Returns when every connection is closed.
  void Run();
  // Closes all connections.
  void Stop();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace chorus::studio
