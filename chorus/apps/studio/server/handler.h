// Handler: a request in, a reply out, without a socket: what the server does with each request.
//
//   GET  /                    the pages
//   GET  /api/schema          the JSON Schema of the interface
//   GET  /api/NAME?field=..   a question
//   POST /api/NAME            the same, its fields in a JSON object
//
// Thread safety: safe to share; Handle is called from many threads at once.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chorus/apps/studio/server/endpoint.h"
#include "chorus/apps/studio/server/pages.h"

namespace chorus::studio {

inline constexpr std::size_t kMostBody = std::size_t{64} * 1024;  // bytes
inline constexpr int kMostDepth = 16;                             // of JSON in a request

struct StudioRequest {
  std::string method;  // "GET", "POST", "HEAD"
  std::string path;    // decoded, without the query: "/api/layout"
  std::vector<std::pair<std::string, std::string>> query = {};
  std::string body = {};
  std::string host = {};        // the Host header
  std::string origin = {};      // the Origin header: of the page that asks
  std::string fetch_site = {};  // Sec-Fetch-Site
  std::string if_none_match = {};
  bool takes_gzip = false;
};

struct StudioReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::string_view lasting = {};  // instead of body: bytes that live as long as the process
  std::vector<std::pair<std::string, std::string>> headers = {};
};

struct HandlerOptions {
  EndpointOptions endpoints;
  std::string pages;    // a folder instead of the built-in pages; "": those
  std::string host;     // the name or address that was bound
  bool others = false;  // bound for other machines too: any address of a Host header is right
};

class Handler {
 public:
  explicit Handler(HandlerOptions options);

  StudioReply Handle(const StudioRequest& request);

 private:
  StudioReply Answer(const StudioRequest& request, const Endpoint& endpoint);
  bool IsOurHost(const std::string& host) const;

  // Constant after construction.
  HandlerOptions options_;
  std::vector<Endpoint> endpoints_;
  std::string schema_;
  int most_running_;

  // Questions are answered by so many threads at once as there are cores, others wait.
  std::mutex mutex_;
  std::condition_variable free_;
  int running_ = 0;  // guarded by mutex_
  int waiting_ = 0;  // guarded by mutex_
};

}  // namespace chorus::studio
