#include "chorus/base/trace.h"

#include <fmt/format.h>

namespace chorus {
namespace {

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace

std::string TraceLine(const TraceEvent& event) {
  const bool has_length = event.duration_us.has_value();
  std::string line = fmt::format(R"({{"name": {}, "ph": "{}", "pid": {}, "tid": {}, "ts": {:.6f})",
                                 Quoted(event.name), has_length ? "X" : "i", event.process,
                                 event.track, event.begin_us);
  // An instant of its track alone.
  line += has_length ? fmt::format(R"(, "dur": {:.6f})", *event.duration_us) : R"(, "s": "t")";
  if (event.arguments.empty()) return line + "}";
  line += ", \"args\": {";
  bool is_first = true;
  for (const auto& [name, value] : event.arguments) {
    const double* const number = std::get_if<double>(&value);
    line += fmt::format(
        "{}{}: {}", is_first ? "" : ", ", Quoted(name),
        number != nullptr ? fmt::format("{}", *number) : Quoted(std::get<std::string>(value)));
    is_first = false;
  }
  return line + "}}";
}

std::string TraceNameLine(std::int64_t process, std::int64_t track, std::string_view name) {
  const bool is_track = track >= 0;
  return fmt::format(R"({{"name": "{}_name", "ph": "M", "pid": {}, "tid": {}, "args": )"
                     R"({{"name": {}}}}})",
                     is_track ? "thread" : "process", process, is_track ? track : 0, Quoted(name));
}

std::string TraceFile(const std::vector<std::string>& lines) {
  std::string text = "[\n";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text += ",\n";
    text += lines[i];
  }
  return text + "\n]\n";
}

}  // namespace chorus
