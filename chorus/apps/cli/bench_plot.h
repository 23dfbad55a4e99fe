// A picture of measurements: lines over sizes, both axes logarithmic, as an SVG that reads well on
// light and dark pages.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "chorus/apps/cli/bench_result.h"
#include "chorus/base/status.h"

namespace chorus::cli {

struct PlotSeries {
  std::string name;
  std::vector<std::pair<double, double>>
      points;  // (bytes, value); those that are not > 0 are left out
};

struct PlotPanel {
  std::string title;  // with the unit: "bus bandwidth (GB/s)"
  std::vector<PlotSeries> series;
};

// The panels side by side under one title; they have the same series, which one legend names. A
// panel without a point says so.
std::string DrawSvg(const std::string& title, const std::vector<PlotPanel>& panels);

struct TimePoint {
  std::string name;  // of its line
  double bytes = 0;
  double seconds = 0;
};
// Times against size, a line for each name. Errors: no point with bytes and seconds above 0.
Result<std::string> DrawTimes(const std::string& title, const std::vector<TimePoint>& points);

// Bus bandwidth and time against size. Of one operation both ways to call it and the bound; of
// several operations or algorithms each out of place.
std::string DrawBench(const BenchReport& report, const std::string& title);

}  // namespace chorus::cli
