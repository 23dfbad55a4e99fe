#include "chorus/apps/cli/bench_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string_view>

namespace chorus::cli {
namespace {

// In pixels. A panel with its labels is kWidth wide.
constexpr double kWidth = 430;
constexpr double kHeight = 360;
constexpr double kLeft = 58;  // at least; labels that are longer have what they need
constexpr double kRight = 24;
constexpr double kHead = 34;  // of the title, over the legend
constexpr double kBottom = 46;
constexpr double kTitle = 30;  // of a panel, over its lines
constexpr double kLegendLine = 16;
constexpr double kLetter = 7;  // of a legend
constexpr double kBeside = 6;  // from a label to its line
constexpr int kMostLabels = 7;

// Of middle lightness, so that they stand out on white and on black; told apart by people who do
// not tell red from green (after Okabe and Ito, 2008).
constexpr std::array<std::string_view, 8> kColours = {"#0b84d8", "#d9772b", "#1f9e74", "#c4679f",
                                                      "#8a6fd1", "#b59a1b", "#d14a4a", "#5b8c9e"};

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

struct Range {
  double low = 0;  // log2 or log10
  double high = 0;
};

// Covers all points of one coordinate with whole powers of `base`.
Range Cover(const std::vector<double>& values, double base) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  Range range{std::floor(std::log(*low) / std::log(base) + 1e-9),
              std::ceil(std::log(*high) / std::log(base) - 1e-9)};
  if (range.high <= range.low) range.high = range.low + 1;
  return range;
}

std::string ShortNumber(double value) {
  return value >= 1 ? fmt::format("{:.0f}", value) : fmt::format("{:g}", value);
}

// "64 KiB" of 16, a power of two.
std::string SizeLabel(int power) {
  constexpr std::array<std::string_view, 7> kUnits = {"B",   "KiB", "MiB", "GiB",
                                                      "TiB", "PiB", "EiB"};
  if (power < 0) return ShortNumber(std::exp2(power));
  const std::size_t unit = std::min<std::size_t>(static_cast<std::size_t>(power) / 10, 6);
  return fmt::format("{} {}", std::int64_t{1} << (static_cast<std::size_t>(power) - 10 * unit),
                     kUnits[unit]);
}

class Panel {
 public:
  Panel(const PlotPanel& panel, double x0, double top) : panel_(panel), x0_(x0), top_(top) {
    std::vector<double> xs;
    std::vector<double> ys;
    for (const PlotSeries& series : panel.series) {
      for (const auto& [x, y] : series.points) {
        if (x <= 0 || y <= 0) continue;
        xs.push_back(x);
        ys.push_back(y);
      }
    }
    empty_ = xs.empty();
    if (empty_) return;
    x_ = Cover(xs, 2);
    y_ = Cover(ys, 10);
    for (const double decade : {y_.low, y_.high}) {
      const std::string label = ShortNumber(std::pow(10, decade));
      left_ = std::max(left_, kBeside + kLetter * static_cast<double>(label.size() + 1));
    }
  }

  std::string Draw() const {
    std::string out = Text(x0_ + left_, top_ - 12, "start", panel_.title, "title");
    if (empty_) return out + Text(x0_ + kWidth / 2, kHeight / 2, "middle", "nothing to draw", "");
    out += Grid();
    for (std::size_t i = 0; i < panel_.series.size(); ++i) out += Line(i);
    return out;
  }

 private:
  double X(double value) const {
    const double part = (std::log2(value) - x_.low) / (x_.high - x_.low);
    return x0_ + left_ + part * (kWidth - left_ - kRight);
  }
  double Y(double value) const {
    const double part = (std::log10(value) - y_.low) / (y_.high - y_.low);
    return kHeight - kBottom - part * (kHeight - kBottom - top_);
  }
  static std::string Text(double x, double y, std::string_view anchor, std::string_view text,
                          std::string_view kind) {
    return fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", x, y, anchor,
        kind, Escaped(text));
  }
  static std::string Stroke(double x1, double y1, double x2, double y2, std::string_view kind) {
    return fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1,
        x2, y2, kind);
  }

  std::string Grid() const {
    std::string out;
    const double left = x0_ + left_;
    const double right = x0_ + kWidth - kRight;
    const double bottom = kHeight - kBottom;
    for (double decade = y_.low; decade <= y_.high; ++decade) {
      const double value = std::pow(10, decade);
      out += Stroke(left, Y(value), right, Y(value), "grid");
      out += Text(left - kBeside, Y(value) + 4, "end", ShortNumber(value), "");
      for (int k = 2; k <= 5 && decade < y_.high; k += 3) {
        out += Stroke(left, Y(k * value), right, Y(k * value), "faint");
        if (y_.high - y_.low <= 3) {
          out += Text(left - kBeside, Y(k * value) + 4, "end", ShortNumber(k * value), "small");
        }
      }
    }
    const double step = std::max(1.0, std::ceil((x_.high - x_.low) / kMostLabels));
    for (double power = x_.low; power <= x_.high; power += step) {
      const double x = X(std::exp2(power));
      out += Stroke(x, top_, x, bottom, "grid");
      out += Text(x, bottom + 16, "middle", SizeLabel(static_cast<int>(power)), "small");
    }
    return out + Text((left + right) / 2, kHeight - 8, "middle", "size", "");
  }

  std::string Line(std::size_t i) const {
    std::string points;
    std::string dots;
    for (const auto& [x, y] : panel_.series[i].points) {
      if (x <= 0 || y <= 0) continue;
      points += fmt::format("{:.1f},{:.1f} ", X(x), Y(y));
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.4\" fill=\"{}\"/>\n", X(x),
                          Y(y), kColours[i % kColours.size()]);
    }
    return fmt::format(
               "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"{}/>\n",
               points, kColours[i % kColours.size()],
               i >= kColours.size() ? " stroke-dasharray=\"5 3\"" : "") +
           dots;
  }

  const PlotPanel& panel_;
  double x0_;
  double top_;  // of the lines
  double left_ = kLeft;
  bool empty_ = true;
  Range x_;
  Range y_;
};

// The names of all panels' lines, in rows under the title; `bottom` is where they end.
std::string Legend(const PlotPanel& panel, double width, double& bottom) {
  std::string out;
  double x = kLeft;
  double y = kHead + kLegendLine;
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    const std::string& name = panel.series[i].name;
    const double needed = 44 + kLetter * static_cast<double>(name.size());
    if (x + needed > width && x > kLeft) {
      x = kLeft;
      y += kLegendLine;
    }
    out += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"3\"{}/>\n<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        x, y - 4, x + 20, y - 4, kColours[i % kColours.size()],
        i >= kColours.size() ? " stroke-dasharray=\"5 3\"" : "", x + 26, y, Escaped(name));
    x += needed;
  }
  bottom = y;
  return out;
}

}  // namespace

std::string DrawSvg(const std::string& title, const std::vector<PlotPanel>& panels) {
  const double width = kWidth * static_cast<double>(panels.size());
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n"
      "<style>text {{ font: 12px sans-serif; fill: #57606a }} .small {{ font-size: 10px }} "
      ".title {{ font-weight: bold }} .head {{ font-size: 14px; font-weight: bold }} "
      ".grid {{ stroke: #8b949e; stroke-opacity: .45 }} "
      ".faint {{ stroke: #8b949e; stroke-opacity: .18 }} "
      "@media (prefers-color-scheme: dark) {{ text {{ fill: #b1bac4 }} }}</style>\n"
      "<text x=\"{2:.0f}\" y=\"24\" class=\"head\">{3}</text>\n",
      width, kHeight, kLeft, Escaped(title));
  double bottom = 0;
  if (!panels.empty()) out += Legend(panels.front(), width, bottom);
  double x0 = 0;
  for (const PlotPanel& panel : panels) {
    out += Panel(panel, x0, bottom + kTitle).Draw();
    x0 += kWidth;
  }
  return out + "</svg>\n";
}

Result<std::string> DrawTimes(const std::string& title, const std::vector<TimePoint>& points) {
  // In the unit in which the shortest is a number above 1, if there is one.
  double least = std::numeric_limits<double>::infinity();
  for (const TimePoint& point : points) {
    if (point.bytes > 0 && point.seconds > 0) least = std::min(least, point.seconds);
  }
  const bool in_seconds = least >= 1, in_milliseconds = !in_seconds && least >= 1e-3;
  const double units = in_seconds ? 1 : in_milliseconds ? 1e3 : 1e6;  // in a second
  PlotPanel panel;
  panel.title = in_seconds ? "time (s)" : in_milliseconds ? "time (ms)" : "time (us)";
  for (const TimePoint& point : points) {
    if (point.bytes <= 0 || point.seconds <= 0) continue;
    const auto found = std::find_if(panel.series.begin(), panel.series.end(),
                                    [&](const PlotSeries& s) { return s.name == point.name; });
    PlotSeries& series = found == panel.series.end() ? panel.series.emplace_back() : *found;
    series.name = point.name;
    series.points.emplace_back(point.bytes, point.seconds * units);
  }
  if (!panel.series.empty()) return DrawSvg(title, {panel});
  return InvalidArgument("--plot: there is nothing to draw; give sizes above 0, as 1KiB..1GiB");
}

std::string DrawBench(const BenchReport& report, const std::string& title) {
  std::set<OpKind> ops;
  for (const BenchRow& row : report.rows) ops.insert(row.what.op);
  std::set<std::string> asked;
  for (const BenchRow& row : report.rows) asked.insert(row.asked);
  // A line for each, out of place only.
  const bool several = ops.size() > 1 || asked.size() > 1;
  const auto name_of = [&](const BenchRow& row) {
    if (!several) return std::string("out of place");
    if (asked.size() <= 1) return std::string(Name(row.what.op));
    return ops.size() <= 1 ? row.asked : fmt::format("{} {}", Name(row.what.op), row.asked);
  };
  // In the order in which they come.
  std::vector<std::string> names;
  std::map<std::string, std::array<PlotSeries, 2>> series;  // bandwidth, time
  const auto add = [&](const std::string& name, const BenchRow& row, const BenchTiming& timing) {
    if (series.count(name) == 0) names.push_back(name);
    std::array<PlotSeries, 2>& both = series[name];
    const auto bytes = static_cast<double>(row.what.bytes);
    both[0].points.emplace_back(bytes, row.BusBandwidth(timing));
    both[1].points.emplace_back(bytes, timing.time_us);
  };
  for (const BenchRow& row : report.rows) {
    if (row.out_of_place) add(name_of(row), row, *row.out_of_place);
    if (several) continue;
    if (row.in_place) add("in place", row, *row.in_place);
    if (row.bound_us > 0) add("bound", row, {row.bound_us, -1});
  }
  std::vector<PlotPanel> panels = {{"bus bandwidth (GB/s)", {}}, {"time (us)", {}}};
  for (const std::string& name : names) {
    for (std::size_t k = 0; k < panels.size(); ++k) {
      panels[k].series.push_back(series[name][k]);
      panels[k].series.back().name = name;
    }
  }
  return DrawSvg(title, panels);
}

}  // namespace chorus::cli
