// ProgramTrace: what one rank's programs did when, written to a file when the rank ends.
//
// Tracks of a rank: what it does itself, operation after operation, and which shifts are under way
// meanwhile, on as many as there are at a time. Times are those of the trace of collectives, so
// both stand one above the other. Off unless the variable CHORUS_TRACE is set (`--trace FILE`):
// rank r writes FILE.r.program, when its Runtime ends, beside what its collectives write
// (collective/trace_recorder.h), one event a line (base/trace.h), in the box "programs". Thread
// safety: one thread at a time. Files that cannot be written are told on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace chorus {

class ProgramTrace {
 public:
  using Clock = std::chrono::steady_clock;

  // None if the variable is not set.
  static std::unique_ptr<ProgramTrace> FromEnvironment(int rank);
  ProgramTrace(std::string path, int rank) : path_(std::move(path)), rank_(rank) {}
  // Writes the file.
  ~ProgramTrace();
  ProgramTrace(const ProgramTrace&) = delete;
  ProgramTrace& operator=(const ProgramTrace&) = delete;

  // An operation of this rank, or a shift that was under way beside.
  void Add(std::string name, bool is_shift, Clock::time_point begin, Clock::time_point end);

  // What the file holds.
  std::string Text() const;

 private:
  struct Span {
    std::string name;
    bool is_shift = false;
    Clock::time_point begin;
    Clock::time_point end;
  };

  const std::string path_;
  const int rank_;
  std::vector<Span> spans_;
  std::int64_t dropped_ = 0;
};

}  // namespace chorus
