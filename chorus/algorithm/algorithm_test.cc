// Every algorithm, on data, against the equation of its operation (op.h).
#include "chorus/algorithm/algorithm.h"

#include <gtest/gtest.h>

#include "chorus/schedule/bytes.h"
#include "chorus/schedule/interpreter.h"

namespace chorus {
namespace {

// "x2.1.0 " is element 0 of block 1 of rank 2. Sums of strings show who was added in which order.
RankBlocks<std::string> Inputs(const Expansion& e, const std::vector<std::int64_t>& sizes) {
  RankBlocks<std::string> in(e.group_size);
  for (std::int64_t rank = 0; rank < e.group_size; ++rank) {
    in[rank].resize(sizes.size());
    for (std::int64_t b = 0; b < std::ssize(sizes); ++b) {
      if (!InHolds(e.op, e.frames[rank].own, rank, e.root, b)) continue;
      for (std::int64_t i = 0; i < sizes[b]; ++i) {
        in[rank][b].push_back("x" + std::to_string(rank) + "." + std::to_string(b) + "." +
                              std::to_string(i) + " ");
      }
    }
  }
  return in;
}

std::string Sorted(std::string text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    words.push_back(text.substr(0, text.find(' ') + 1));
    text = text.substr(words.back().size());
  }
  std::sort(words.begin(), words.end());
  std::string joined;
  for (const std::string& word : words) joined += word;
  return joined;
}

std::string Expected(const Expansion& e, const RankBlocks<std::string>& in, std::int64_t b,
                     std::int64_t i) {
  std::string sum;
  for (std::int64_t q = 0; q < e.group_size; ++q) {
    if (Reduces(e.op) || InHolds(e.op, e.frames[q].own, q, e.root, b)) sum += in[q][b][i];
  }
  return Reduces(e.op) ? "(" + sum + ")" : sum;
}

void Check(const Algorithm& algorithm, std::int64_t n, std::int64_t root, const Setting& setting) {
  const Schedule schedule = algorithm.Build();
  SCOPED_TRACE(testing::Message() << algorithm.name << " " << Name(algorithm.op) << " N=" << n
                                  << " root=" << root << " in place=" << setting.in_place);
  const Result<Expansion> e = Expand(schedule, n, root);
  ASSERT_TRUE(e.ok()) << e.status().ToString();
  const RankBlocks<std::string> in = Inputs(*e, setting.block_elements);
  Arithmetic<std::string> arithmetic;
  // Finishing marks the value, so that doing it twice or never shows.
  arithmetic.finish = [](const std::string& x) { return "(" + x + ")"; };
  const auto out = Interpret(*e, setting, arithmetic, in);
  ASSERT_TRUE(out.ok()) << out.status().ToString() << schedule.ToString();
  for (std::int64_t rank = 0; rank < n; ++rank) {
    for (std::int64_t b = 0; b < std::ssize(setting.block_elements); ++b) {
      if (!OutHolds(e->op, e->frames[rank].own, rank, root, b)) continue;
      ASSERT_EQ(std::ssize((*out)[rank][b]), setting.block_elements[b]);
      for (std::int64_t i = 0; i < setting.block_elements[b]; ++i) {
        std::string got = (*out)[rank][b][i];
        if (e->order == ReduceOrder::kAny) got = "(" + Sorted(got.substr(1, got.size() - 2)) + ")";
        const std::string want = Expected(*e, in, b, i);
        ASSERT_EQ(got, e->order == ReduceOrder::kAny
                           ? "(" + Sorted(want.substr(1, want.size() - 2)) + ")"
                           : want);
      }
    }
  }
}

TEST(AlgorithmTest, DoesWhatItsOperationPromises) {
  for (const Algorithm& algorithm : AllAlgorithms()) {
    for (std::int64_t n = 1; n <= 9; ++n) {
      for (std::int64_t root = 0; root < (HasRoot(algorithm.op) ? n : 1); ++root) {
        const Frame frame = *algorithm.Build().FrameFor(n, 0, root);
        Setting setting;
        // Uneven blocks, one of them empty; up to 3 tiles of 2 elements.
        for (std::int64_t b = 0; b < frame.blocks; ++b) setting.block_elements.push_back(b * 3 % 7);
        for (bool in_place : {false, true}) {
          for (Pick pick : {Pick::kFirst, Pick::kLast, Pick::kRandom}) {
            setting.in_place = in_place;
            setting.pick = pick;
            setting.tile_elements = pick == Pick::kFirst ? 100 : 2;
            Check(algorithm, n, root, setting);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace chorus
