#include "chorus/collective/trace_recorder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "chorus/base/trace.h"
#include "chorus/probe/write_file.h"

namespace chorus {
namespace {

double Microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

std::string_view NameOfPoint(TransportPoint::Kind kind) {
  using Point = TransportPoint::Kind;
  switch (kind) {
    case Point::kPublish:
      return "publish";
    case Point::kLaneTo:
      return "lane to";
    case Point::kLaneFrom:
      return "look for";
    case Point::kBegin:
      return "send to";
    case Point::kCommit:
      return "show to";
    case Point::kConsume:
      return "used of";
    case Point::kPosted:
      return "posted";
    case Point::kRing:
      return "ring";
    case Point::kLaneSent:
      return "sent by lane to";
    case Point::kMoved:
      return "moved to";
    case Point::kCut:
      return "cut to";
    case Point::kFinish:
      return "finish";
    case Point::kMap:
      return "map of";
    case Point::kRead:
      return "read of";
    case Point::kPut:
      return "put to";
    case Point::kGet:
      return "get of";
    case Point::kPoison:
      return "poison";
    case Point::kNote:
      return "note";
    case Point::kSettle:
      return "settle";
    case Point::kGoodbye:
      return "goodbye";
  }
  return "";
}

// A look that found nothing, again.
bool IsSameLook(const TransportPoint& a, const TransportPoint& b) {
  const bool is_look = a.kind == TransportPoint::Kind::kLaneFrom ||
                       a.kind == TransportPoint::Kind::kLaneTo ||
                       a.kind == TransportPoint::Kind::kBegin;
  return is_look && a == b;
}

}  // namespace

std::shared_ptr<TraceRecorder> TraceRecorder::FromEnvironment(int rank) {
  const char* const prefix = std::getenv("CHORUS_TRACE");  // NOLINT(concurrency-mt-unsafe)
  if (prefix == nullptr || *prefix == '\0') return nullptr;
  return std::make_shared<TraceRecorder>(fmt::format("{}.{}", prefix, rank), rank);
}

void TraceRecorder::Add(Span span) {
  if (spans_.size() < kMost) {
    spans_.push_back(std::move(span));
  } else {
    ++dropped_;
  }
}

void TraceRecorder::Add(const TransportPoint& point) {
  if (!steps_.empty() && IsSameLook(steps_.back().point, point)) return;
  if (steps_.size() < kMost) {
    steps_.push_back({point, std::chrono::steady_clock::now().time_since_epoch()});
  } else {
    ++dropped_;
  }
}

std::string TraceRecorder::Text() const {
  std::string text = TraceNameLine(0, rank_, fmt::format("rank {}", rank_)) + "\n";
  for (const Span& span : spans_) {
    TraceEvent event;
    event.name = span.name;
    event.track = rank_;
    event.begin_us = Microseconds(span.begin);
    event.duration_us = Microseconds(span.end - span.begin);
    event.arguments = {{"group", span.group},
                       {"algorithm", span.algorithm},
                       {"bytes", static_cast<double>(span.bytes)},
                       {"outcome", span.failed ? "failed" : "ok"}};
    text += TraceLine(event) + "\n";
  }
  for (const Step& step : steps_) {
    TraceEvent event;
    event.name = NameOfPoint(step.point.kind);
    if (step.point.peer >= 0) event.name += fmt::format(" {}", step.point.peer);
    event.track = rank_;
    event.begin_us = Microseconds(step.time);
    if (step.point.bytes > 0) {
      event.arguments.emplace_back("bytes", static_cast<double>(step.point.bytes));
    }
    text += TraceLine(event) + "\n";
  }
  if (dropped_ > 0) {
    TraceEvent event;
    event.name = fmt::format("{} events more than a trace keeps", dropped_);
    event.track = rank_;
    if (!steps_.empty()) event.begin_us = Microseconds(steps_.back().time);
    text += TraceLine(event) + "\n";
  }
  return text;
}

TraceRecorder::~TraceRecorder() {
  const Status written = WriteFile(path_, Text(), "CHORUS_TRACE");
  if (!written.ok()) fmt::print(stderr, "chorus: {}\n", written.message());
}

}  // namespace chorus
