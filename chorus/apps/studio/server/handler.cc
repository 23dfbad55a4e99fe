#include "chorus/apps/studio/server/handler.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <exception>
#include <new>
#include <optional>
#include <thread>

#include "chorus/apps/studio/server/bounded.h"
#include "chorus/apps/studio/server/json_depth.h"
#include "chorus/base/nearest.h"

namespace chorus::studio {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostWaiting = 1024;     // for quick questions before them
constexpr int kMostSlowWaiting = 256;  // each of them holds its connection for seconds
constexpr std::chrono::seconds kMostWait(10);
constexpr std::chrono::seconds kMostTime(5);  // of a question that may take long
constexpr std::int64_t kMostMiB = 1024;       // of memory, of such a question
constexpr std::size_t kMostKept = std::size_t{32} << 20;

// As many as there are cores.
int SlotCount() { return std::max(2, static_cast<int>(std::thread::hardware_concurrency())); }

std::string Dump(const Json& json) {
  // What was sent to us may be no UTF-8; it is shown as far as it is.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

StudioReply Refuse(Refusal refusal) {
  // What was sent to us may be in it; still it is one line.
  std::replace(refusal.error.begin(), refusal.error.end(), '\n', ' ');
  return {refusal.status, "application/json", Dump(refusal.ToJson())};
}

bool IsAddress(std::string_view host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    return host.find_first_not_of("0123456789abcdefABCDEF:.", 1) == host.size() - 1;
  }
  return !host.empty() && host.find('.') != std::string_view::npos &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

// Without the port: "[::1]:8733" -> "[::1]".
std::string_view NameOf(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos || host.back() == ']') return host;
  const std::string_view port = host.substr(colon + 1);
  const bool digits = port.find_first_not_of("0123456789") == std::string_view::npos;
  return digits ? host.substr(0, colon) : host;
}

// These go with every reply: nothing from elsewhere, nothing guessed, nothing told.
void AddSafety(StudioReply& reply) {
  reply.headers.emplace_back("Content-Security-Policy",
                             "default-src 'self'; base-uri 'none'; form-action 'none'; "
                             "frame-ancestors 'none'");
  reply.headers.emplace_back("X-Content-Type-Options", "nosniff");
  reply.headers.emplace_back("Referrer-Policy", "no-referrer");
  reply.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
}

StudioReply PageReply(const StudioRequest& request, const std::string& folder) {
  const Result<Page> page =
      folder.empty() ? BuiltInPage(request.path) : PageOfFolder(folder, request.path);
  if (!page.ok()) {
    const int status = page.status().code() == StatusCode::kNotFound ? 404 : 503;
    return {status, "text/plain; charset=utf-8", page.status().message() + "\n"};
  }
  StudioReply reply{200, page->content_type};
  reply.headers.emplace_back("ETag", page->etag);
  reply.headers.emplace_back("Cache-Control", "no-cache");  // asked again, answered with 304
  reply.headers.emplace_back("Vary", "Accept-Encoding");
  if (!page->etag.empty() && request.if_none_match.find(page->etag) != std::string::npos) {
    reply.status = 304;
    return reply;
  }
  const bool packed = request.takes_gzip && !page->gzip.empty();
  if (packed) reply.headers.emplace_back("Content-Encoding", "gzip");
  if (page->owned.empty()) {
    reply.lasting = packed ? page->gzip : page->plain;
  } else {
    reply.body = page->owned;
  }
  return reply;
}

BoundedReply RefuseNow(Refusal refusal) {
  StudioReply reply = Refuse(std::move(refusal));
  return {reply.status, std::move(reply.body)};
}

BoundedReply AnswerNow(const Endpoint& endpoint, const Fields& fields) {
  try {
    const Result<Json> answer = endpoint.answer(fields);
    if (answer.ok()) return {200, Dump(*answer)};
    std::vector<std::string> names;
    for (const Field& field : endpoint.fields) names.push_back(field.name);
    Refusal refusal = RefusalOf(answer.status(), fields.values(), names);
    if (endpoint.spellings) refusal.spellings = endpoint.spellings(fields);
    return RefuseNow(std::move(refusal));
  } catch (const std::bad_alloc&) {
    return RefuseNow({503, "there is not enough memory for this; ask for less"});
  } catch (const std::exception& error) {
    return RefuseNow({500, fmt::format("a defect of chorus: {}", error.what())});
  }
}

// A browser says which page asks; what is no browser says nothing.
bool IsOfAnotherSite(const StudioRequest& request) {
  if (request.fetch_site == "cross-site") return true;
  if (request.origin.empty()) return false;
  const std::size_t authority = request.origin.find("://");
  return authority == std::string::npos || request.origin.substr(authority + 3) != request.host;
}

}  // namespace

Handler::Handler(HandlerOptions options)
    : options_(std::move(options)),
      schema_(Dump(SchemaOf(options_.endpoints))),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      quick_(SlotCount(), kMostWaiting),
      slow_(SlotCount(), kMostSlowWaiting),
      answers_(kMostKept) {}

Handler::~Handler() { close(stop_); }

void Handler::Stop() {
  eventfd_write(stop_, 1);
  slow_.Close();
}

bool Handler::IsOurHost(const std::string& host) const {
  std::string name(NameOf(host));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (name == "localhost" || name == "127.0.0.1" || name == "[::1]") return true;
  if (std::find(options_.hosts.begin(), options_.hosts.end(), name) != options_.hosts.end()) {
    return true;
  }
  return options_.others && IsAddress(name);
}

StudioReply Handler::Handle(const StudioRequest& request) {
  constexpr std::string_view kApi = "/api/";
  StudioReply reply;
  if (!IsOurHost(request.host)) {
    // A page of another site whose name leads here would ask under that name.
    reply = Refuse({403, fmt::format("'{}' is not where chorus studio runs; open the address that "
                                     "it has printed",
                                     request.host.substr(0, 100))});
  } else if (request.method != "GET" && request.method != "HEAD" && request.method != "POST") {
    reply = Refuse({405, "only GET and POST are answered"});
  } else if (request.path.compare(0, kApi.size(), kApi) != 0) {
    reply = request.method == "POST" ? Refuse({405, "pages are read with GET"})
                                     : PageReply(request, options_.pages);
  } else if (request.path == "/api/schema") {
    reply = {200, "application/schema+json", schema_};
  } else if (IsOfAnotherSite(request)) {
    // It could not read the answer, but could keep the machine busy.
    reply = Refuse({403, "a page of another site asks; only the pages of chorus studio may"});
  } else {
    const std::string name = request.path.substr(kApi.size());
    const auto endpoint = std::find_if(options_.endpoints.begin(), options_.endpoints.end(),
                                       [&name](const Endpoint& e) { return e.name == name; });
    if (endpoint == options_.endpoints.end()) {
      std::vector<std::string> known = {"schema"};
      for (const Endpoint& e : options_.endpoints) known.push_back(e.name);
      reply = Refuse({404, fmt::format("there is no endpoint '{}'; {}", name.substr(0, 60),
                                       NearestAdvice(name.substr(0, 60), known))});
    } else {
      reply = Answer(request, *endpoint);
    }
    reply.headers.emplace_back("Cache-Control", "no-store");
  }
  AddSafety(reply);
  return reply;
}

StudioReply Handler::Answer(const StudioRequest& request, const Endpoint& endpoint) {
  Json given = Json::object();
  if (request.method == "POST") {
    if (request.body.size() > kMostBody) {
      return Refuse({413, fmt::format("the request has {} bytes; at most {} are read",
                                      request.body.size(), kMostBody)});
    }
    if (IsDeeperThan(kMostDepth, request.body)) {
      return Refuse({400, fmt::format("the request is nested deeper than {}", kMostDepth)});
    }
    if (!request.body.empty()) given = Json::parse(request.body, nullptr, false);
    if (given.is_discarded()) {
      return Refuse({400, "the request is no JSON; send an object, like {\"op\": \"all_reduce\"}"});
    }
  } else {
    given = FromQuery(endpoint.fields, request.query);
  }
  Fields fields;
  if (const auto refusal = Fields::Read(endpoint.fields, given, fields)) return Refuse(*refusal);

  const std::string question = endpoint.name + Dump(fields.values());
  if (!endpoint.changes) {
    if (std::optional<std::string> known = answers_.Find(question)) {
      return {200, "application/json", *std::move(known)};
    }
  }
  StudioReply reply;
  if (endpoint.takes_long) {
    reply = AnswerSlowly(request, endpoint, fields);
  } else {
    const auto patient = [] { return false; };
    if (quick_.Take(patient) != Slots::Turn::kTaken) {
      return Refuse({503, "too much is asked at once; try again"});
    }
    BoundedReply answer = AnswerNow(endpoint, fields);
    quick_.Give();
    reply = {answer.status, "application/json", std::move(answer.body)};
  }
  if (reply.status == 200 && !endpoint.changes) answers_.Keep(question, reply.body);
  return reply;
}

std::string_view AdviceIfTooMuch(const Endpoint& endpoint) {
  if (endpoint.changes) return "keep a part of the file";
  return "ask for less, or ask the command line, which waits";
}

StudioReply Handler::AnswerSlowly(const StudioRequest& request, const Endpoint& endpoint,
                                  const Fields& fields) {
  const BoundedWatch watch{stop_, request.connection};
  const Clock::time_point until = Clock::now() + kMostWait;
  const Slots::Turn turn = slow_.Take([&] { return Clock::now() > until || GivesUp(watch); });
  if (turn != Slots::Turn::kTaken) {
    return Refuse({503, "too much is asked at once, or the server ends; try again"});
  }
  BoundedResult result =
      AnswerWithin({kMostTime, kMostMiB << 20}, watch, [&] { return AnswerNow(endpoint, fields); });
  slow_.Give();
  switch (result.end) {
    case BoundedEnd::kAnswered:
      return {result.reply.status, "application/json", std::move(result.reply.body)};
    case BoundedEnd::kTooLong:
      return Refuse({504, fmt::format("this takes more than {} s; {}", kMostTime.count(),
                                      AdviceIfTooMuch(endpoint))});
    case BoundedEnd::kTooLarge:
      return Refuse({422, fmt::format("this takes more than {} MiB of memory; {}", kMostMiB,
                                      AdviceIfTooMuch(endpoint))});
    case BoundedEnd::kGivenUp:
      return Refuse({503, "the server ends, or nobody waits for this any more"});
    case BoundedEnd::kLost:
      return Refuse(
          {503, fmt::format("the answer was lost: the process that worked it out was "
                            "ended{}; try again",
                            result.signal == 0 ? std::string()
                                               : fmt::format(" by signal {}", result.signal))});
    case BoundedEnd::kFailed:
      break;
  }
  return Refuse({503, "there is not enough memory for this; ask for less"});
}

}  // namespace chorus::studio
