// The induction over tiles (verify.h), checked on small cases without leaning on it: the tiles are
// written out as one big schedule, tile t of block b being a block of its own and copy t mod S of
// the scratch being slots of their own, and that schedule is proved as a whole.
#include <gtest/gtest.h>

#include "chorus/algorithm/algorithm.h"
#include "chorus/verify/verify.h"

namespace chorus {
namespace {

// REQUIRES: no owners, since a rank owns only one block of a schedule; not all_to_all, whose blocks
// say by their number whose they are.
Expansion WrittenOut(const Expansion& e, std::int64_t tiles) {
  Expansion all = e;
  for (std::int64_t rank = 0; rank < e.group_size; ++rank) {
    const Frame& frame = e.frames[rank];
    const std::int64_t steps = std::ssize(e.ranks[rank]);
    all.frames[rank].blocks = frame.blocks * tiles;
    all.frames[rank].tmp_slots = frame.tmp_slots * frame.tiles;
    all.frames[rank].acc_slots = frame.acc_slots * frame.tiles;
    all.ranks[rank].clear();
    for (std::int64_t t = 0; t < tiles; ++t) {
      for (Step step : e.ranks[rank]) {
        step.label += " tile " + std::to_string(t);
        // 2^20 messages a tile are more than any of these schedules has.
        if (step.IsMessage()) step.message += t << 20;
        for (Chunk& chunk : step.chunks) {
          chunk.block += t * frame.blocks;
          const bool tmp = chunk.buffer == BufferKind::kTmp;
          if (IsScratch(chunk.buffer)) {
            chunk.slot += t % frame.tiles * (tmp ? frame.tmp_slots : frame.acc_slots);
          }
        }
        for (std::int64_t& before : step.after) before += t * steps;
        for (std::int64_t i = 0; t >= frame.tiles && i < steps; ++i) {
          step.after.push_back((t - frame.tiles) * steps + i);
        }
        std::sort(step.after.begin(), step.after.end());
        all.ranks[rank].push_back(std::move(step));
      }
    }
  }
  return all;
}

TEST(TilesTest, SeveralTilesAreProvedAsAWhole) {
  int proved = 0;
  for (const Algorithm& algorithm : AllAlgorithms()) {
    if (HasOwners(algorithm.op) || algorithm.op == OpKind::kAllToAll) continue;
    const Schedule schedule = algorithm.Build();
    for (std::int64_t n = 1; n <= 6; ++n) {
      if (!algorithm.Fits(n).ok()) continue;
      const Expansion e = *Expand(schedule, n, n / 2 * (HasRoot(algorithm.op) ? 1 : 0));
      for (std::int64_t tiles = 1; tiles <= 2 * schedule.tiles() + 1; ++tiles) {
        for (bool in_place : {false, true}) {
          if (in_place && !HasInPlace(algorithm.op)) continue;
          const Verdict verdict = Prove(WrittenOut(e, tiles), in_place);
          ASSERT_TRUE(verdict.ok()) << algorithm.name << " " << Name(algorithm.op) << " N=" << n
                                    << " tiles=" << tiles << ": " << verdict.fault->ToString();
          ++proved;
        }
      }
    }
  }
  EXPECT_GT(proved, 300);
}

// Were tile t allowed to start before tile t - S has ended, its scratch would be overwritten. (If
// one rank alone did not wait, the others' waiting would still order its steps through messages.)
TEST(TilesTest, ASlotThatIsReusedTooEarlyIsARace) {
  const Expansion e = *Expand((*FindAlgorithm("ring", OpKind::kAllReduce))->Build(), 3);
  const std::int64_t in_flight = e.frames[0].tiles;
  Expansion all = WrittenOut(e, in_flight + 1);
  for (std::vector<Step>& steps : all.ranks) {
    const std::int64_t in_tile = std::ssize(steps) / (in_flight + 1);
    for (std::int64_t i = in_flight * in_tile; i < std::ssize(steps); ++i) {
      std::erase_if(steps[i].after, [&](std::int64_t before) { return before < in_tile; });
    }
  }
  const Verdict verdict = Prove(all, false);
  ASSERT_FALSE(verdict.ok());
  EXPECT_EQ(verdict.fault->rank, 0);
  EXPECT_NE(verdict.fault->ToString().find("neither comes after the other"), std::string::npos);
}

}  // namespace
}  // namespace chorus
