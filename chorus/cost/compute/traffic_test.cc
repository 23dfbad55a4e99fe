#include "chorus/cost/compute/traffic.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

TEST(TrafficTest, ZeroStagesMoveTwoOrThreeTimesTheParameters) {
  EXPECT_EQ(ZeroStep(1, 1e9, 32).calls(), 2);
  EXPECT_EQ(ZeroStep(2, 1e9, 32).calls(), 33);
  EXPECT_EQ(ZeroStep(3, 1e9, 32).calls(), 96);
  EXPECT_EQ(ZeroStep(3, 1e9, 32).gathered_bytes, 3e9);
  // On the wire stages 1 and 2 cost what plain data parallel does, stage 3 half as much more.
  for (double n : {2.0, 8.0}) {
    EXPECT_EQ(ZeroStep(1, 1e9, 32).WireBytes(n), ZeroStep(0, 1e9, 32).WireBytes(n));
    EXPECT_EQ(ZeroStep(2, 1e9, 32).WireBytes(n), ZeroStep(0, 1e9, 32).WireBytes(n));
    EXPECT_DOUBLE_EQ(ZeroStep(3, 1e9, 32).WireBytes(n), 1.5 * ZeroStep(0, 1e9, 32).WireBytes(n));
  }
}

TEST(TrafficTest, SequenceParallelMovesWhatTensorParallelDoes) {
  for (bool backward : {false, true}) {
    const StepTraffic tensor = TensorStep(1e6, 12, backward);
    const StepTraffic sequence = SequenceStep(1e6, 12, backward);
    EXPECT_EQ(tensor.calls() * 2, sequence.calls());
    EXPECT_EQ(tensor.WireBytes(8), sequence.WireBytes(8));
  }
}

TEST(TrafficTest, PipelinesAndExperts) {
  EXPECT_EQ(PipelineForwardBytes(5, 1), 0);
  EXPECT_EQ(PipelineForwardBytes(5, 4), 15);
  EXPECT_EQ(InFlight(4, 2), 2);
  EXPECT_EQ(InFlight(4, 16), 4);
  EXPECT_EQ(InterleavedLayers(8, 2, 2),
            (std::vector<std::vector<std::int64_t>>{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(ExpertDispatchBytes(100, 2, 1, 8, 1), 0);
  EXPECT_EQ(ExpertDispatchBytes(100, 2, 2, 8, 1), 800);
}

}  // namespace
}  // namespace chorus
