#include "chorus/cost/calibrate/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "chorus/base/counted.h"
#include "chorus/base/random.h"

namespace chorus {
namespace {

constexpr int kTerms = kCurveNumbers;
constexpr int kResamplings = 200;
constexpr int kIterations = 30;
constexpr double kLeastResidual = 0.01;  // below it residuals count alike

using TermValues = std::array<double, kTerms>;

TermValues TermsOf(double bytes) { return {1, std::sqrt(bytes), bytes}; }

double Predicted(const TermValues& x, double bytes) {
  const TermValues terms = TermsOf(bytes);
  return x[0] * terms[0] + x[1] * terms[1] + x[2] * terms[2];
}

// Gauss with pivoting, over the terms of `mask`; the others are 0. Empty if they are not
// independent.
std::optional<TermValues> Solve(const std::array<TermValues, kTerms>& matrix,
                                const TermValues& right, unsigned mask) {
  std::array<int, kTerms> used{};
  std::size_t n = 0;
  for (int i = 0; i < kTerms; ++i) {
    if ((mask >> i & 1U) != 0) used[n++] = i;
  }
  std::array<std::array<double, kTerms + 1>, kTerms> rows{};  // n of them, of n + 1 numbers
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) rows[i][j] = matrix[used[i]][used[j]];
    rows[i][n] = right[used[i]];
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t j = i + 1; j < n; ++j) {
      if (std::abs(rows[j][i]) > std::abs(rows[pivot][i])) pivot = j;
    }
    if (std::abs(rows[pivot][i]) < 1e-12) return std::nullopt;
    std::swap(rows[i], rows[pivot]);
    for (std::size_t j = 0; j < n; ++j) {
      if (j == i) continue;
      const double factor = rows[j][i] / rows[i][i];
      for (std::size_t k = i; k <= n; ++k) rows[j][k] -= factor * rows[i][k];
    }
  }
  TermValues x{};
  for (std::size_t i = 0; i < n; ++i) x[used[i]] = rows[i][n] / rows[i][i];
  return x;
}

// Weighted least squares of predicted / measured against 1, with no number below 0: of all choices
// of terms the best whose numbers are not.
TermValues LeastSquares(const std::vector<Measurement>& points,
                        const std::vector<double>& weights) {
  // Terms are scaled to about 1, since bytes reach 1e11 and seconds 1e-6.
  TermValues scale{};
  for (const Measurement& m : points) {
    const TermValues terms = TermsOf(m.bytes);
    for (int i = 0; i < kTerms; ++i) scale[i] = std::max(scale[i], terms[i] / m.seconds);
  }
  std::array<TermValues, kTerms> matrix{};
  TermValues right{};
  for (std::size_t p = 0; p < points.size(); ++p) {
    const TermValues terms = TermsOf(points[p].bytes);
    for (int i = 0; i < kTerms; ++i) {
      const double a = terms[i] / points[p].seconds / scale[i];
      right[i] += weights[p] * a;
      for (int j = 0; j < kTerms; ++j) {
        matrix[i][j] += weights[p] * a * terms[j] / points[p].seconds / scale[j];
      }
    }
  }
  TermValues best{};
  double least = -1;
  for (unsigned mask = 1; mask < 1U << kTerms; ++mask) {
    std::optional<TermValues> x = Solve(matrix, right, mask);
    if (!x || std::any_of(x->begin(), x->end(), [](double v) { return v < 0; })) continue;
    for (int i = 0; i < kTerms; ++i) (*x)[i] /= scale[i];
    double sum = 0;
    for (std::size_t p = 0; p < points.size(); ++p) {
      const double off = Predicted(*x, points[p].bytes) / points[p].seconds - 1;
      sum += weights[p] * off * off;
    }
    if (least >= 0 && sum >= least) continue;
    least = sum;
    best = *x;
  }
  return best;
}

// Least squares again and again, each residual weighed by one over its size: the least sum of
// absolute values.
TermValues FitNumbers(const std::vector<Measurement>& points) {
  std::vector<double> weights(points.size(), 1);
  TermValues x{};
  for (int i = 0; i < kIterations; ++i) {
    const TermValues before = x;
    x = LeastSquares(points, weights);
    if (x == before) break;
    for (std::size_t p = 0; p < points.size(); ++p) {
      const double ratio = Predicted(x, points[p].bytes) / points[p].seconds;
      weights[p] = 1 / std::max(std::abs(std::log(std::max(ratio, 1e-9))), kLeastResidual);
    }
  }
  return x;
}

// What was measured at one size.
struct OneSize {
  double bytes = 0;
  std::vector<double> seconds;
  std::vector<std::size_t> sweeps;  // which sweep each is of
};

struct Sweeps {
  std::vector<OneSize> sizes;  // smallest first
  std::size_t count = 0;
};

Sweeps SweepsOf(const std::vector<Measurement>& measurements) {
  std::map<double, OneSize> sizes;
  std::map<std::pair<std::string, double>, std::size_t> met;  // in a log, of a size
  std::map<std::pair<std::string, std::size_t>, std::size_t> numbers;
  for (const Measurement& m : measurements) {
    const std::size_t repetition = met[{m.log, m.bytes}]++;
    OneSize& size = sizes[m.bytes];
    size.bytes = m.bytes;
    size.seconds.push_back(m.seconds);
    size.sweeps.push_back(numbers.try_emplace({m.log, repetition}, numbers.size()).first->second);
  }
  Sweeps sweeps;
  for (auto& [bytes, size] : sizes) sweeps.sizes.push_back(std::move(size));
  sweeps.count = numbers.size();
  return sweeps;
}

Measurement MedianPoint(const OneSize& size) {
  Measurement point;
  point.bytes = size.bytes;
  point.seconds = MedianOf(size.seconds);
  return point;
}

// How much times scatter about the curve, relative: the standard deviation that the residuals of so
// many sizes speak of, kCurveNumbers of which the curve took away.
double ScatterOf(const TermValues& x, const std::vector<Measurement>& points) {
  double sum = 0;
  for (const Measurement& m : points) sum += std::abs(std::log(Predicted(x, m.bytes) / m.seconds));
  const auto n = static_cast<double>(points.size());
  constexpr double kOfMeanSize = 1.2533;  // sqrt(pi / 2): normal deviations to their mean size
  return std::max(kLeastResidual,
                  kOfMeanSize * sum / n * std::sqrt(n / (n - static_cast<double>(kCurveNumbers))));
}

// The k-th resampling: of each size what the curve says, as far off it as the sweeps that were
// drawn are off all, and `scatter`.
std::vector<Measurement> Drawn(const Sweeps& sweeps, const TermValues& x, double scatter,
                               std::uint64_t k) {
  const RandomStream which(1, "sweeps"), noise(1, "noise");
  std::vector<std::size_t> times(sweeps.count);  // that each sweep is drawn
  for (std::uint64_t i = 0; i < sweeps.count; ++i) ++times[which.Below(sweeps.count, k, i)];
  std::vector<Measurement> drawn;
  for (std::uint64_t i = 0; i < sweeps.sizes.size(); ++i) {
    const OneSize& size = sweeps.sizes[i];
    OneSize part = {size.bytes, {}, {}};
    for (std::size_t j = 0; j < size.seconds.size(); ++j) {
      part.seconds.insert(part.seconds.end(), times[size.sweeps[j]], size.seconds[j]);
    }
    // A size that none of them measured is worth what it is.
    drawn.push_back(MedianPoint(part.seconds.empty() ? size : part));
    drawn.back().seconds *= Predicted(x, size.bytes) / MedianPoint(size).seconds *
                            std::exp(scatter * noise.Normal(k, i));
  }
  return drawn;
}

// How much wider than of normal deviations the middle 95 % are, where few sizes tell how much times
// scatter: Student's t over the normal 1.96. Two numbers decide most curves.
double Widening(std::size_t sizes) {
  constexpr double kNormal = 1.96;
  const auto free = static_cast<double>(sizes) - 2;
  if (free < 3) return 4.303 / kNormal;
  const double z = kNormal, z3 = z * z * z;
  return 1 + ((z3 + z) / (4 * free) + (5 * z3 * z * z + 16 * z3 + 3 * z) / (96 * free * free)) / z;
}

// As far to either side as the middle 95 % of the resamplings reach to one, `widening` times: what
// a resampling is off the curve, the curve is off the truth the other way.
Measured WithInterval(double value, std::vector<double> resampled, double widening) {
  std::sort(resampled.begin(), resampled.end());
  const std::size_t cut = resampled.size() / 40;  // 2.5 %
  const double reach = widening * std::max({0.0, value - resampled[cut],
                                            resampled[resampled.size() - 1 - cut] - value});
  return {value, std::max(0.0, value - reach), value + reach};
}

// The number of a term that is as large as the error at one of the points and smaller at all
// others: of a number that is 0 more cannot be excluded.
double WithinError(const std::vector<Measurement>& points, int term, double error) {
  double least = std::numeric_limits<double>::infinity();
  for (const Measurement& m : points) least = std::min(least, m.seconds / TermsOf(m.bytes)[term]);
  return least * std::clamp(error, kLeastResidual, 1.0);
}

}  // namespace

double GeometricError(const FittedCurve& curve, const std::vector<Measurement>& measurements) {
  if (measurements.empty()) return 0;
  double sum = 0;
  for (const Measurement& m : measurements) {
    sum += std::abs(std::log(curve.Time(m.bytes) / m.seconds));
  }
  return std::exp(sum / static_cast<double>(measurements.size())) - 1;
}

FittedCurve FitCurve(const std::vector<Measurement>& measurements) {
  const Sweeps sweeps = SweepsOf(measurements);
  std::vector<Measurement> points;
  for (const OneSize& size : sweeps.sizes) points.push_back(MedianPoint(size));
  const TermValues x = FitNumbers(points);
  FittedCurve curve;
  curve.op = measurements[0].op;
  curve.ranks = measurements[0].ranks;
  curve.nodes = measurements[0].nodes;
  curve.root = measurements[0].root;
  curve.least_bytes = static_cast<std::int64_t>(points.front().bytes);
  curve.most_bytes = static_cast<std::int64_t>(points.back().bytes);
  curve.points = static_cast<std::int64_t>(measurements.size());
  Measured* const numbers[] = {&curve.latency, &curve.saturation, &curve.inverse};
  for (int i = 0; i < kTerms; ++i) numbers[i]->value = x[i];
  curve.error_fitted = GeometricError(curve, measurements);
  if (points.size() <= static_cast<std::size_t>(kCurveNumbers)) return curve;
  const double scatter = ScatterOf(x, points);
  std::array<std::vector<double>, kTerms> resampled;
  for (std::uint64_t k = 0; k < kResamplings; ++k) {
    const TermValues y = FitNumbers(Drawn(sweeps, x, scatter, k));
    for (int i = 0; i < kTerms; ++i) resampled[i].push_back(y[i]);
  }
  for (int i = 0; i < kTerms; ++i) {
    *numbers[i] = WithInterval(x[i], std::move(resampled[i]), Widening(points.size()));
    if (x[i] > 0) continue;
    numbers[i]->high = std::max(numbers[i]->high, WithinError(points, i, curve.error_fitted));
  }
  return curve;
}

Result<Fits> FitAll(std::vector<Measurement> measurements) {
  if (measurements.empty()) return InvalidArgument("there is nothing to fit: no measurement");
  std::stable_sort(measurements.begin(), measurements.end(),
                   [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Key, std::vector<Measurement>> groups;
  for (Measurement& m : measurements) {
    groups[{m.op, m.ranks, m.nodes, m.root}].push_back(std::move(m));
  }
  Fits fits;
  for (const auto& [key, group] : groups) {
    std::set<double> sizes;
    for (const Measurement& m : group) sizes.insert(m.bytes);
    if (static_cast<std::int64_t>(sizes.size()) < kCurveNumbers) {
      fits.too_few.push_back(
          fmt::format("{} was measured at {}, too few for a curve; measure {} or more, as with -b "
                      "1K -e 16M -f 2",
                      QuestionText(std::get<0>(key), std::get<1>(key), std::get<3>(key)),
                      Counted(static_cast<std::int64_t>(sizes.size()), "size"), kCurveNumbers));
      continue;
    }
    std::vector<Measurement> fitted, held_out;
    const bool aside = (sizes.size() + 1) / 2 > static_cast<std::size_t>(kCurveNumbers);
    std::size_t size = 0;  // the number of its size, smallest first
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (i > 0 && group[i].bytes != group[i - 1].bytes) ++size;
      (aside && size % 2 == 1 ? held_out : fitted).push_back(group[i]);
    }
    FittedCurve curve = FitCurve(fitted);
    if (aside) curve.error_held_out = GeometricError(curve, held_out);
    fits.curves.push_back(std::move(curve));
  }
  if (fits.curves.empty()) return InvalidArgument(fits.too_few[0]);
  return fits;
}

}  // namespace chorus
