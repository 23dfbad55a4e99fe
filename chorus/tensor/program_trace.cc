#include "chorus/tensor/program_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "chorus/base/trace.h"
#include "chorus/probe/write_file.h"

namespace chorus {
namespace {

constexpr std::size_t kMostSpans = std::size_t{1} << 18;
constexpr std::int64_t kBoxOfPrograms = 1;  // that of collectives is 0
constexpr std::int64_t kTracksOfRank = 1024;

double MicrosecondsOf(ProgramTrace::Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

std::unique_ptr<ProgramTrace> ProgramTrace::FromEnvironment(int rank) {
  const char* const prefix = std::getenv("CHORUS_TRACE");  // NOLINT(concurrency-mt-unsafe)
  if (prefix == nullptr || *prefix == '\0') return nullptr;
  return std::make_unique<ProgramTrace>(fmt::format("{}.{}.program", prefix, rank), rank);
}

void ProgramTrace::Add(std::string name, bool is_shift, Clock::time_point begin,
                       Clock::time_point end) {
  if (spans_.size() < kMostSpans) {
    spans_.push_back({std::move(name), is_shift, begin, end});
  } else {
    ++dropped_;
  }
}

std::string ProgramTrace::Text() const {
  const std::int64_t own = kTracksOfRank * rank_;
  std::string text = TraceNameLine(kBoxOfPrograms, -1, "programs") + "\n";
  text += TraceNameLine(kBoxOfPrograms, own, fmt::format("rank {}", rank_)) + "\n";
  std::vector<const Span*> by_begin;
  for (const Span& span : spans_) by_begin.push_back(&span);
  std::stable_sort(by_begin.begin(), by_begin.end(),
                   [](const Span* a, const Span* b) { return a->begin < b->begin; });
  // Spans of one track may not overlap: a shift goes to the first that is free when it begins.
  std::vector<Clock::time_point> busy_until;
  for (const Span* span : by_begin) {
    TraceEvent event;
    event.name = span->name;
    event.process = kBoxOfPrograms;
    event.track = own;
    if (span->is_shift) {
      const auto is_free = [&](Clock::time_point until) { return until <= span->begin; };
      const auto lane = std::find_if(busy_until.begin(), busy_until.end(), is_free);
      event.track = own + 1 + (lane - busy_until.begin());
      if (lane == busy_until.end()) {
        busy_until.push_back(span->end);
        text += TraceNameLine(kBoxOfPrograms, event.track,
                              fmt::format("rank {} shift {}", rank_, busy_until.size())) +
                "\n";
      } else {
        *lane = span->end;
      }
    }
    event.begin_us = MicrosecondsOf(span->begin.time_since_epoch());
    event.duration_us = MicrosecondsOf(span->end - span->begin);
    text += TraceLine(event) + "\n";
  }
  if (dropped_ > 0) {
    TraceEvent event;
    event.name = fmt::format("{} operations more than a trace keeps", dropped_);
    event.process = kBoxOfPrograms;
    event.track = own;
    event.begin_us = MicrosecondsOf(spans_.back().end.time_since_epoch());
    text += TraceLine(event) + "\n";
  }
  return text;
}

ProgramTrace::~ProgramTrace() {
  const Status written = WriteFile(path_, Text(), "CHORUS_TRACE");
  if (!written.ok()) fmt::print(stderr, "chorus: {}\n", written.message());
}

}  // namespace chorus
