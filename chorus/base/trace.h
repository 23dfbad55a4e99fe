// Trace events: what happened when, as text in Chrome's trace format, which chrome://tracing and
// Perfetto read. The one writer of it: of what was simulated, and of what was measured.
//
//   {"name": "all_reduce #17", "ph": "X", "pid": 0, "tid": 2, "ts": 12.500000, "dur": 3.250000,
//    "args": {"bytes": 4096}}
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace chorus {

struct TraceEvent {
  std::string name;
  std::int64_t process = 0;  // the box that tracks stand in
  std::int64_t track = 0;    // a rank
  double begin_us = 0;
  std::optional<double> duration_us;  // none: it has no length
  std::vector<std::pair<std::string, std::variant<double, std::string>>> arguments;
};

// One JSON object, without a line's end.
std::string TraceLine(const TraceEvent& event);
// That a track, or with track -1 a process, is to be shown under `name`.
std::string TraceNameLine(std::int64_t process, std::int64_t track, std::string_view name);
// The whole file, from lines.
std::string TraceFile(const std::vector<std::string>& lines);

}  // namespace chorus
