// Handler: a request in, a reply out, without a socket: what the server does with each request.
//
//   GET  /                    the pages
//   GET  /api/schema          the JSON Schema of the interface
//   GET  /api/NAME?field=..   a question
//   POST /api/NAME            the same, its fields in a JSON object
//
// Questions that may take long are answered in slots of their own, so that those which take
// milliseconds never wait for them; an answer that was given before is given again.
// Thread safety: safe to share; Handle is called from many threads at once.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chorus/apps/studio/server/answer_cache.h"
#include "chorus/apps/studio/server/endpoint.h"
#include "chorus/apps/studio/server/pages.h"
#include "chorus/apps/studio/server/slots.h"

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
  int connection = -1;  // the socket; a long answer is given up when its other side closes
};

struct StudioReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::string_view lasting = {};  // instead of body: bytes that live as long as the process
  std::vector<std::pair<std::string, std::string>> headers = {};
};

struct HandlerOptions {
  std::vector<Endpoint> endpoints;
  std::string pages;  // a folder instead of the built-in pages; "": those
  // Lower case: besides those of this machine's loopback, what a Host header may say.
  std::vector<std::string> hosts;
  bool others = false;  // bound for other machines too: so is any address
};

// What to do about a question that takes too long or too much memory: no command reads the files of
// `changes`.
std::string_view AdviceIfTooMuch(const Endpoint& endpoint);

class Handler {
 public:
  explicit Handler(HandlerOptions options);
  ~Handler();
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

  StudioReply Handle(const StudioRequest& request);
  // From now on long answers are given up, those under way and those to come.
  void Stop();

 private:
  StudioReply Answer(const StudioRequest& request, const Endpoint& endpoint);
  StudioReply AnswerSlowly(const StudioRequest& request, const Endpoint& endpoint,
                           const Fields& fields);
  bool IsOurHost(const std::string& host) const;

  // Constant after construction.
  HandlerOptions options_;
  std::string schema_;
  int stop_;  // an eventfd: readable once Stop was called

  Slots quick_;
  Slots slow_;
  AnswerCache answers_;
};

}  // namespace chorus::studio
