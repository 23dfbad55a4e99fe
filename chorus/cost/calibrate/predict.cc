#include "chorus/cost/calibrate/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "chorus/base/op_kind.h"
#include "chorus/base/rate.h"

namespace chorus {
namespace {

bool IsOfMachine(const FittedCurve& fit, const Wiring& w, const Question& q) {
  return fit.op == q.op && fit.ranks == w.ranks && fit.nodes == w.nodes;
}

const FittedCurve* FitOf(const Wiring& w, const Question& q) {
  const FittedCurve* any_root = nullptr;
  for (const FittedCurve& fit : w.fits) {
    if (!IsOfMachine(fit, w, q)) continue;
    if (fit.root == q.root) return &fit;
    if (fit.root < 0) any_root = &fit;
  }
  return any_root;
}

std::string Trust(const FittedCurve& fit, double bytes) {
  std::string text = fmt::format("within {:.1f} % on the {} measurements fitted",
                                 100 * fit.error_fitted, fit.points);
  if (fit.error_held_out) {
    text += fmt::format(", {:.1f} % on those held out", 100 * *fit.error_held_out);
  }
  if (const std::optional<OpKind> op = ParseOpKind(fit.op); op && HasRoot(*op)) {
    text +=
        fit.root < 0 ? ", with a root that is not known" : fmt::format(", with root {}", fit.root);
  }
  if (!fit.latency.IntervalKnown()) text += ", too few to know how sure they are";
  if (bytes < static_cast<double>(fit.least_bytes) || bytes > static_cast<double>(fit.most_bytes)) {
    text += fmt::format("; NOT measured at this size, only from {} to {}",
                        ToString(Bytes(fit.least_bytes)), ToString(Bytes(fit.most_bytes)));
  }
  return text;
}

}  // namespace

bool HasFit(const Wiring& wiring, const Question& question) {
  return FitOf(wiring, question) != nullptr;
}

std::vector<std::int64_t> OtherRoots(const Wiring& w, const Question& q) {
  std::vector<std::int64_t> roots;
  if (HasFit(w, q)) return roots;
  for (const FittedCurve& fit : w.fits) {
    if (IsOfMachine(fit, w, q)) roots.push_back(fit.root);
  }
  std::sort(roots.begin(), roots.end());
  return roots;
}

Estimate EstimateFromFit(const Wiring& w, const Question& q) {
  const FittedCurve& fit = *FitOf(w, q);
  Estimate e;
  e.op = q.op;
  e.algorithm = "measured";
  e.bytes = q.bytes;
  e.ranks = w.ranks;
  Term waits, moves, trust;
  waits.latency = Seconds(fit.latency.value);
  const auto text = [](double seconds) { return ToString(Seconds(seconds)); };
  waits.reason = "latency " + text(fit.latency.value);
  if (fit.latency.IntervalKnown()) {
    waits.reason += fmt::format(" ({} to {})", text(fit.latency.low), text(fit.latency.high));
  }
  const double unfilled = fit.saturation.value * std::sqrt(q.bytes);
  moves.bandwidth = Seconds(fit.inverse.value * q.bytes + unfilled);
  if (fit.inverse.value > 0) {
    const auto rate = [](double inverse) { return ToString(BytesPerSecond(1 / inverse)); };
    moves.reason = "V / " + rate(fit.inverse.value);
    if (fit.inverse.IntervalKnown()) {
      moves.reason += fmt::format(" ({} to {})", rate(fit.inverse.high),
                                  fit.inverse.low > 0 ? rate(fit.inverse.low) : "no limit");
    }
    moves.reason += fmt::format(" = {}; ", text(fit.inverse.value * q.bytes));
  }
  moves.reason += fmt::format("links not yet full {}", text(unfilled));
  trust.reason = Trust(fit, q.bytes);
  e.terms = {waits, moves, trust};
  e.latency = waits.latency;
  e.bandwidth = moves.bandwidth;
  e.time = e.latency + e.bandwidth;
  if (e.time.value() > 0) {
    e.algbw = BytesPerSecond(q.bytes / e.time.value());
    e.busbw = BytesPerSecond(e.algbw.value() * BusFactor(q.op, w.ranks));
  }
  return e;
}

}  // namespace chorus
