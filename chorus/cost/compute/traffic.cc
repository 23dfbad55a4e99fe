#include "chorus/cost/compute/traffic.h"

#include <algorithm>

namespace chorus {

StepTraffic ZeroStep(int stage, double parameter_bytes, std::int64_t layers) {
  StepTraffic t;
  if (stage == 0) {
    t.all_reduces = 1;
    t.reduced_bytes = parameter_bytes;
    return t;
  }
  t.all_gathers = stage == 3 ? 2 * layers : 1;
  t.reduce_scatters = stage == 1 ? 1 : layers;
  t.gathered_bytes = (stage == 3 ? 3 : 2) * parameter_bytes;
  return t;
}

StepTraffic TensorStep(double activation_bytes, std::int64_t layers, bool with_backward) {
  StepTraffic t;
  t.all_reduces = (with_backward ? 4 : 2) * layers;
  t.reduced_bytes = static_cast<double>(t.all_reduces) * activation_bytes;
  return t;
}

StepTraffic SequenceStep(double activation_bytes, std::int64_t layers, bool with_backward) {
  StepTraffic t;
  t.all_gathers = t.reduce_scatters = (with_backward ? 4 : 2) * layers;
  t.gathered_bytes = 2 * static_cast<double>(t.all_gathers) * activation_bytes;
  return t;
}

double PipelineForwardBytes(double activation_bytes, std::int64_t stages) {
  return static_cast<double>(stages - 1) * activation_bytes;
}

std::vector<std::vector<std::int64_t>> InterleavedLayers(std::int64_t layers, std::int64_t stages,
                                                         std::int64_t chunks) {
  const std::int64_t piece = layers / (stages * chunks);
  std::vector<std::vector<std::int64_t>> held(stages);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    held[layer / piece % stages].push_back(layer);
  }
  return held;
}

std::int64_t InFlight(std::int64_t stages, std::int64_t microbatches) {
  return std::min(stages, microbatches);
}

double ExpertDispatchBytes(double tokens, double k, double ranks, double width, double element) {
  return tokens * k * (1 - 1 / ranks) * width * element;
}

}  // namespace chorus
