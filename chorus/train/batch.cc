#include "chorus/train/batch.h"

#include "chorus/base/random.h"

namespace chorus {
namespace {

void AppendSample(const Text& text, std::int64_t window, std::int64_t start, Batch& batch) {
  const auto at = text.tokens().begin() + start;
  batch.tokens.insert(batch.tokens.end(), at, at + window);
  batch.targets.push_back(at[window]);
}

}  // namespace

Batch TrainingBatch(const Text& text, std::int64_t window, std::uint64_t seed, std::int64_t step,
                    std::int64_t begin, std::int64_t count) {
  const RandomStream places(seed, "training batch", static_cast<std::uint64_t>(step));
  // A window of `window` tokens and its target must fit.
  const auto starts = static_cast<std::uint64_t>(text.training_size() - window);
  Batch batch;
  batch.tokens.reserve(static_cast<std::size_t>(count * window));
  for (std::int64_t s = begin; s < begin + count; ++s) {
    const std::uint64_t start = places.Below(starts, static_cast<std::uint64_t>(s));
    AppendSample(text, window, static_cast<std::int64_t>(start), batch);
  }
  return batch;
}

Batch HeldOutBatch(const Text& text, std::int64_t window, std::int64_t total, std::int64_t begin,
                   std::int64_t count) {
  const std::int64_t starts = text.size() - text.training_size() - window;
  Batch batch;
  batch.tokens.reserve(static_cast<std::size_t>(count * window));
  for (std::int64_t s = begin; s < begin + count; ++s) {
    const auto offset = static_cast<std::int64_t>(
        static_cast<double>(s) * static_cast<double>(starts) / static_cast<double>(total));
    AppendSample(text, window, text.training_size() + offset, batch);
  }
  return batch;
}

}  // namespace chorus
