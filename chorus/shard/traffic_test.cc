#include "chorus/shard/traffic.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

CollectiveShape Even(std::int64_t n, std::int64_t index, std::int64_t count, bool blocks) {
  CollectiveShape shape;
  for (std::int64_t rank = 0; rank < n; ++rank) {
    shape.group.push_back(rank);
    if (blocks) shape.counts.push_back(count);
  }
  shape.index = index;
  shape.elements = n * count;
  return shape;
}

// Large arrays: the closed forms (N - 1)/N V and 2 (N - 1)/N V, on every rank, whatever is chosen.
TEST(Traffic, EqualsTheClosedForms) {
  for (const std::int64_t n : {1, 2, 3, 4, 7, 8, 9, 16}) {
    for (std::int64_t rank = 0; rank < n; ++rank) {
      const std::int64_t count = 100'000;
      const Bytes one_way(4 * (n - 1) * count);
      EXPECT_EQ(BytesSent(ProgramOpKind::kAllGather, Even(n, rank, count, true)), one_way);
      EXPECT_EQ(BytesSent(ProgramOpKind::kReduceScatter, Even(n, rank, count, true)), one_way);
      EXPECT_EQ(BytesSent(ProgramOpKind::kAllReduce, Even(n, rank, count, false)), one_way * 2);
    }
  }
}

// Uneven blocks of a v-variant: what all ranks send adds up to every block going to N - 1 others.
TEST(Traffic, UnevenBlocksAddUp) {
  CollectiveShape shape;
  shape.group = {0, 1, 2};
  shape.counts = {40'000, 0, 30'000};
  shape.elements = 70'000;
  Bytes all;
  for (shape.index = 0; shape.index < 3; ++shape.index) {
    all += BytesSent(ProgramOpKind::kAllGather, shape);
  }
  EXPECT_EQ(all, Bytes(4 * 2 * 70'000));
}

TEST(Traffic, OneNumberTakesOneMessageToEveryOther) {
  CollectiveShape loss = Even(4, 2, 0, false);
  loss.elements = 1;
  EXPECT_EQ(BytesSent(ProgramOpKind::kAllReduce, loss), Bytes(3 * 4));
}

TEST(Traffic, IsSortedByKindAndAxes) {
  const StepProgram program = *StepProgram::Parse(
      "bound\n  w[I_XY]: f32 parameter\noperations\n"
      "  a[I_X]: f32 workspace = all_gather(w, I_Y)\n"
      "  b[I]: f32 workspace = all_gather(a, I_X)\n  free(a)\n"
      "  c[I]: f32 workspace = all_gather(w, I_XY)\noutputs b, c\n");
  const std::map<TrafficKey, Bytes> traffic =
      PredictTraffic(program, *Mesh::Parse("X=2,Y=2"), {{"I", 400'000}}, 3);
  ASSERT_EQ(traffic.size(), 3U);
  EXPECT_EQ(traffic.at({ProgramOpKind::kAllGather, "X"}), Bytes(800'000));
  EXPECT_EQ(traffic.at({ProgramOpKind::kAllGather, "XY"}), Bytes(1'200'000));
  EXPECT_EQ(traffic.at({ProgramOpKind::kAllGather, "Y"}), Bytes(400'000));
}

}  // namespace
}  // namespace chorus
