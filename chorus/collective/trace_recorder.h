// TraceRecorder: everything that one rank does in collectives, written to a file when the rank
// ends.
//
//   operations   from the moment they begin to their end, one track a rank
//   steps        the points at which peers can tell what the rank has done (WatchTransport):
//   instants
//
// A rank's file has one event a line (base/trace.h) and is a part of a trace: whoever started the
// ranks joins the parts (`chorus run --trace`). Off unless the variable CHORUS_TRACE is set, since
// every operation then looks at the clock and every point is remembered.
//
// Thread safety: one thread at a time. Files that cannot be written are told on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chorus/transport/watched/watched_transport.h"

namespace chorus {

class TraceRecorder {
 public:
  struct Span {
    std::string name;   // "all_reduce #17"
    std::string group;  // "world"
    std::string algorithm;
    std::int64_t bytes = 0;
    bool failed = false;
    std::chrono::nanoseconds begin{0};  // of steady_clock since its epoch
    std::chrono::nanoseconds end{0};
  };

  // Of the variable CHORUS_TRACE: rank r writes the file <value>.<r>. None if it is not set.
  static std::shared_ptr<TraceRecorder> FromEnvironment(int rank);
  TraceRecorder(std::string path, int rank) : path_(std::move(path)), rank_(rank) {}
  // Writes the file.
  ~TraceRecorder();
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;

  void Add(Span span);
  void Add(const TransportPoint& point);

 private:
  struct Step {
    TransportPoint point;
    std::chrono::nanoseconds time{0};
  };

  // Events kept at most; what comes later is counted.
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  std::string Text() const;

  const std::string path_;
  const int rank_;
  std::vector<Span> spans_;
  std::vector<Step> steps_;
  std::int64_t dropped_ = 0;
};

}  // namespace chorus
