// Every algorithm, on data, against the equation of its operation (op.h).
#include "chorus/algorithm/algorithm.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

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
      if (!InHolds(e.MemberOf(rank), b)) continue;
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

std::string Expected(const Expansion& e, const RankBlocks<std::string>& in, std::int64_t rank,
                     std::int64_t b, std::int64_t i) {
  std::string sum;
  for (std::int64_t q = 0; q < e.group_size; ++q) {
    if (IsScan(e.op) && q >= rank + (e.op == OpKind::kScan ? 1 : 0)) break;
    if (Reduces(e.op) || InHolds(e.MemberOf(q), b)) sum += in[q][b][i];
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
      if (!OutHolds(e->MemberOf(rank), b)) continue;
      ASSERT_EQ(std::ssize((*out)[rank][b]), setting.block_elements[b]);
      for (std::int64_t i = 0; i < setting.block_elements[b]; ++i) {
        std::string got = (*out)[rank][b][i];
        if (e->order == ReduceOrder::kAny) got = "(" + Sorted(got.substr(1, got.size() - 2)) + ")";
        const std::string want = Expected(*e, in, rank, b, i);
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
      if (!algorithm.Fits(n).ok()) continue;
      for (std::int64_t root = 0; root < (HasRoot(algorithm.op) ? n : 1); ++root) {
        const Frame frame = *algorithm.Build().FrameFor(n, 0, root);
        Setting setting;
        // Uneven blocks, one of them empty; up to 3 tiles of 2 elements.
        for (std::int64_t b = 0; b < frame.blocks; ++b) setting.block_elements.push_back(b * 3 % 7);
        for (bool in_place : {false, true}) {
          if (in_place && !HasInPlace(algorithm.op)) continue;
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

// What every rank has done before rank `last` ends: [rank][step], by dependencies and messages
// alone.
std::vector<std::vector<bool>> DoneBeforeTheEndOf(const Expansion& e, std::int64_t last) {
  std::vector<std::vector<bool>> done(e.group_size);
  std::map<MessageKey, std::int64_t> sends;
  for (std::int64_t rank = 0; rank < e.group_size; ++rank) {
    done[rank].resize(e.ranks[rank].size());
    for (std::size_t i = 0; i < e.ranks[rank].size(); ++i) {
      const Step& step = e.ranks[rank][i];
      if (step.verb == Verb::kSend) sends[KeyOf(step, rank)] = static_cast<std::int64_t>(i);
    }
  }
  const std::function<void(std::int64_t, std::int64_t)> mark = [&](std::int64_t rank,
                                                                   std::int64_t i) {
    if (done[rank][i]) return;
    done[rank][i] = true;
    const Step& step = e.ranks[rank][i];
    for (const std::int64_t before : step.after) mark(rank, before);
    if (step.verb == Verb::kRecv) mark(step.peer, sends.at(KeyOf(step, rank)));
  };
  for (std::int64_t i = 0; i < std::ssize(e.ranks[last]); ++i) mark(last, i);
  return done;
}

// A rank that sees the end of confirmed all_to_all knows that no receiver was surprised.
TEST(AlgorithmTest, ConfirmedAllToAllEndsWhenAllHaveReceived) {
  const auto unheard = [](std::string_view name, std::int64_t n) {
    const Expansion e = *Expand((*FindAlgorithm(name, OpKind::kAllToAll))->Build(), n);
    std::int64_t count = 0;
    for (std::int64_t last = 0; last < n; ++last) {
      const auto done = DoneBeforeTheEndOf(e, last);
      for (std::int64_t rank = 0; rank < n; ++rank) {
        for (std::size_t i = 0; i < done[rank].size(); ++i) {
          count += e.ranks[rank][i].verb == Verb::kRecv && !e.ranks[rank][i].chunks.empty() &&
                   !done[rank][i];
        }
      }
    }
    return count;
  };
  for (std::int64_t n = 1; n <= 17; ++n) {
    EXPECT_EQ(unheard("confirmed", n), 0) << n;
    EXPECT_EQ(unheard("direct", n), n * (n - 1) * (n - 1)) << n;
  }
}

}  // namespace
}  // namespace chorus
