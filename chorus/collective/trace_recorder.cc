#include "chorus/collective/trace_recorder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

#include "chorus/base/trace.h"

namespace chorus {
namespace {

double Microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

std::string_view NameOfPoint(TransportPoint::Kind kind) {
  constexpr std::string_view kNames[] = {"publish", "lane to", "look for", "send to", "show to",
                                         "used of", "posted",  "ring",     "cut to",  "finish",
                                         "map of",  "read of", "put to",   "get of",  "poison",
                                         "note",    "settle",  "goodbye"};
  return kNames[static_cast<std::size_t>(kind)];
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
  std::ofstream file(path_);
  file << Text();
  file.flush();
  if (!file) fmt::print(stderr, "chorus: CHORUS_TRACE: {} cannot be written\n", path_);
}

}  // namespace chorus
