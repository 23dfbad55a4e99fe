#include "chorus/cost/compute/roofline.h"

#include <algorithm>

namespace chorus {

Result<Roof> RoofOf(const Hardware& hardware) {
  // A host has no bf16 units worth the name: it is measured with f32.
  Result<double> peak = hardware.Value("peak_bf16");
  if (!peak.ok() && hardware.Find("peak_f32") != nullptr) peak = hardware.Value("peak_f32");
  CHORUS_RETURN_IF_ERROR(peak.status());
  CHORUS_ASSIGN_OR_RETURN(const double memory, hardware.Value("memory_bandwidth"));
  return Roof{FlopsPerSecond(*peak), BytesPerSecond(memory)};
}

double Workload::Seconds(const Roof& roof) const {
  return std::max(ComputeSeconds(roof), MemorySeconds(roof));
}

Workload ProductWork(double b, double d, double f, double element) {
  return {"product", 2 * b * d * f, element * (b * d + d * f + b * f)};
}

// Shapes: x (T, D) with T = B S tokens; query and output (D, D); key and value (D, D
// heads_k/heads).
std::vector<Workload> LayerWork(const LayerShape& s) {
  const double tokens = s.batch * s.sequence, e = s.element;
  const double key_width = s.width * s.key_heads / s.heads;
  const auto named = [](Workload work, std::string name) {
    work.name = std::move(name);
    return work;
  };
  std::vector<Workload> layer = {
      named(ProductWork(tokens, s.width, s.width, e), "query"),
      named(ProductWork(tokens, s.width, 2 * key_width, e), "key, value"),
  };
  // Scores and values: 2 FLOP an element of keys and of values, for each query; the cache of each
  // sequence is read once, queries and outputs move once, scores stay on the chip.
  const double keys = s.context > 0 ? s.context : s.sequence;
  layer.push_back({"attention", 4 * tokens * keys * s.width,
                   e * (2 * s.batch * keys * key_width + 2 * tokens * s.width)});
  layer.push_back(named(ProductWork(tokens, s.width, s.width, e), "output"));
  layer.push_back(named(ProductWork(tokens, s.width, s.inner, e), "up"));
  if (s.gated) layer.push_back(named(ProductWork(tokens, s.width, s.inner, e), "gate"));
  layer.push_back(named(ProductWork(tokens, s.inner, s.width, e), "down"));
  return layer;
}

double DecodeLinearIntensity(double batch, double element) { return 2 * batch / element; }

double PrefillLinearIntensity(double batch, double sequence, double element) {
  return 2 * batch * sequence / element;
}

double PrefillScoreIntensity(double sequence, double element) {
  return 2 * sequence / (3 * element);
}

double DecodeAttentionIntensity(double heads_per_key_head, double element) {
  return 2 * heads_per_key_head / element;
}

double SplitProduct::Overlapped() const { return std::max(compute, communication); }

SplitProduct GatherWeight(double b, double d, double f, double element, FlopsPerSecond c,
                          BytesPerSecond w) {
  return {2 * b * d * f / c.value(), element * d * f / w.value()};
}

SplitProduct ReduceOutput(double b, double d, double f, double n, double element, FlopsPerSecond c,
                          BytesPerSecond w) {
  return {2 * b * d * f / (n * c.value()), 2 * element * b * f / w.value()};
}

double LeastBatchToGather(FlopsPerSecond c, BytesPerSecond w) { return c.value() / w.value(); }

double MostRanksToReduce(double d, FlopsPerSecond c, BytesPerSecond w) {
  return d / (2 * c.value() / w.value());
}

double LeastTokensForFsdp(FlopsPerSecond c, BytesPerSecond w, double axes) {
  return c.value() / (w.value() * axes);
}

double MostRanksForTensor(double f, FlopsPerSecond c, BytesPerSecond w, double axes) {
  return f * w.value() * axes / c.value();
}

double Exposed(double communication, double compute, double share) {
  return std::max(0.0, communication - share * compute);
}

}  // namespace chorus
