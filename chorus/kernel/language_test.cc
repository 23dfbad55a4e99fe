// The loops at the two ends of a language model: window embedding and cross entropy.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/kernel/cross_entropy.h"
#include "chorus/kernel/embed_window.h"

namespace chorus {
namespace {

template <typename T>
std::vector<T> RandomInput(std::int64_t n, const char* name, double scale = 1.0) {
  const RandomStream stream(3, name);
  std::vector<T> out(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(scale * stream.Normal(0, i));
  return out;
}

std::vector<std::int32_t> RandomTokens(std::int64_t n, std::int64_t vocabulary, const char* name) {
  const RandomStream stream(4, name);
  std::vector<std::int32_t> out(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<std::int32_t>(stream.Below(static_cast<std::uint64_t>(vocabulary), 0, i));
  }
  return out;
}

TEST(EmbedWindowTest, SumsOneRowPerPosition) {
  // W = 2, V = 3, D = 2; table[w][v] = (100 w + 10 v, 100 w + 10 v + 1).
  const std::vector<double> table = {0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121};
  const std::vector<std::int32_t> tokens = {2, 0, 1, 1};
  const EmbedWindowShape shape{
      .samples = 2, .token_positions = 2, .positions = 2, .vocabulary = 3, .width = 2};
  std::vector<double> x(4, -1);
  EmbedWindow(KernelSet::kPlain, shape, tokens.data(), table.data(), x.data());
  EXPECT_EQ(x, (std::vector<double>{120, 122, 120, 122}));
}

TEST(EmbedWindowTest, FastGivesThePlainBitsOnOddWidths) {
  for (const std::int64_t width : {1, 15, 64, 65, 133}) {
    const EmbedWindowShape shape{
        .samples = 9, .token_positions = 5, .positions = 5, .vocabulary = 7, .width = width};
    const auto tokens = RandomTokens(45, 7, "tokens");
    const auto table = RandomInput<float>(35 * width, "table");
    const auto dx = RandomInput<float>(9 * width, "dx");
    std::vector<float> plain(static_cast<std::size_t>(9 * width), 7.0F);
    std::vector<float> fast(plain.size(), 8.0F);
    EmbedWindow(KernelSet::kPlain, shape, tokens.data(), table.data(), plain.data());
    EmbedWindow(KernelSet::kFast, shape, tokens.data(), table.data(), fast.data());
    EXPECT_EQ(plain, fast) << width;
    std::vector<float> plain_table(table.size(), 7.0F);
    std::vector<float> fast_table(table.size(), 8.0F);
    EmbedWindowGradient(KernelSet::kPlain, shape, tokens.data(), dx.data(), plain_table.data());
    EmbedWindowGradient(KernelSet::kFast, shape, tokens.data(), dx.data(), fast_table.data());
    EXPECT_EQ(plain_table, fast_table) << width;
  }
}

// The sum of the shards' results is the whole table's result; a shard's gradient is a slice of the
// whole's. Positions cut 3 + 2, vocabulary 4 + 0 + 3.
TEST(EmbedWindowTest, ShardsAddUpToTheWhole) {
  const EmbedWindowShape whole{
      .samples = 6, .token_positions = 5, .positions = 5, .vocabulary = 7, .width = 3};
  const auto tokens = RandomTokens(30, 7, "tokens");
  const auto table = RandomInput<double>(105, "table");
  const auto dx = RandomInput<double>(18, "dx");
  std::vector<double> want(18);
  EmbedWindow(KernelSet::kPlain, whole, tokens.data(), table.data(), want.data());
  std::vector<double> want_gradient(table.size());
  EmbedWindowGradient(KernelSet::kPlain, whole, tokens.data(), dx.data(), want_gradient.data());

  std::vector<double> sum(18);
  for (const auto& [w0, w1] : {std::pair{0, 3}, {3, 5}}) {
    for (const auto& [v0, v1] : {std::pair{0, 4}, {4, 4}, {4, 7}}) {
      EmbedWindowShape shard = whole;
      shard.position_begin = w0;
      shard.positions = w1 - w0;
      shard.vocabulary_begin = v0;
      shard.vocabulary = v1 - v0;
      std::vector<double> shard_table;
      std::vector<double> shard_want;
      for (std::int64_t w = w0; w < w1; ++w) {
        for (std::int64_t i = std::int64_t{3} * v0; i < std::int64_t{3} * v1; ++i) {
          shard_table.push_back(table[w * 21 + i]);
          shard_want.push_back(want_gradient[w * 21 + i]);
        }
      }
      std::vector<double> x(18, 5.0);
      EmbedWindow(KernelSet::kFast, shard, tokens.data(), shard_table.data(), x.data());
      for (std::size_t i = 0; i < 18; ++i) sum[i] += x[i];
      std::vector<double> dtable(shard_table.size(), 5.0);
      EmbedWindowGradient(KernelSet::kFast, shard, tokens.data(), dx.data(), dtable.data());
      EXPECT_EQ(dtable, shard_want);
    }
  }
  for (std::size_t i = 0; i < 18; ++i) EXPECT_NEAR(sum[i], want[i], 1e-12);
}

TEST(CrossEntropyTest, UniformLogitsCostTheLogarithmOfTheVocabulary) {
  const std::vector<double> logits(130, 3.5);
  const std::vector<std::int32_t> targets = {0, 64};
  EXPECT_NEAR(CrossEntropySum(KernelSet::kPlain, 2, 65, logits.data(), targets.data()),
              2 * std::log(65.0), 1e-12);
  EXPECT_EQ(CrossEntropySum(KernelSet::kPlain, 0, 65, logits.data(), targets.data()), 0.0);
}

TEST(CrossEntropyTest, GradientIsTheFiniteDifference) {
  constexpr std::int64_t kSamples = 3;
  constexpr std::int64_t kVocabulary = 5;
  constexpr double kScale = -0.75;
  auto logits = RandomInput<double>(kSamples * kVocabulary, "logits");
  const std::vector<std::int32_t> targets = {4, 0, 2};
  std::vector<double> gradient(logits.size());
  CrossEntropyGradient(KernelSet::kPlain, kSamples, kVocabulary, logits.data(), targets.data(),
                       kScale, gradient.data());
  const auto total = [&] {
    return kScale *
           CrossEntropySum(KernelSet::kPlain, kSamples, kVocabulary, logits.data(), targets.data());
  };
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double at = logits[i];
    logits[i] = at + kStep;
    const double above = total();
    logits[i] = at - kStep;
    const double below = total();
    logits[i] = at;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-9);
  }
}

TEST(CrossEntropyTest, FastIsNearPlainOnOddVocabularies) {
  for (const std::int64_t vocabulary : {1, 7, 16, 63, 100}) {
    const auto logits = RandomInput<float>(4 * vocabulary, "logits", 3.0);
    const auto targets = RandomTokens(4, vocabulary, "targets");
    const double plain =
        CrossEntropySum(KernelSet::kPlain, 4, vocabulary, logits.data(), targets.data());
    const double fast =
        CrossEntropySum(KernelSet::kFast, 4, vocabulary, logits.data(), targets.data());
    EXPECT_NEAR(plain, fast, 1e-6 * (1 + plain));
    std::vector<float> plain_gradient(logits.size());
    std::vector<float> fast_gradient = logits;  // in place
    CrossEntropyGradient(KernelSet::kPlain, 4, vocabulary, logits.data(), targets.data(), 0.25,
                         plain_gradient.data());
    CrossEntropyGradient(KernelSet::kFast, 4, vocabulary, fast_gradient.data(), targets.data(),
                         0.25, fast_gradient.data());
    for (std::size_t i = 0; i < logits.size(); ++i) {
      EXPECT_NEAR(plain_gradient[i], fast_gradient[i], 1e-6F);
    }
  }
}

TEST(CrossEntropyTest, HugeLogitsStayFiniteAndNaNShows) {
  const std::vector<float> huge = {1e30F, 0.0F};
  const std::vector<float> broken = {0.0F, std::numeric_limits<float>::quiet_NaN()};
  const std::int32_t target = 0;
  for (const KernelSet set : {KernelSet::kPlain, KernelSet::kFast}) {
    EXPECT_EQ(CrossEntropySum(set, 1, 2, huge.data(), &target), 0.0);
    EXPECT_TRUE(std::isnan(CrossEntropySum(set, 1, 2, broken.data(), &target)));
  }
}

}  // namespace
}  // namespace chorus
