#include "chorus/cost/calibrate/placement.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

std::string WhyNotPlaced(std::string_view machine, std::int64_t ranks, std::int64_t nodes,
                         std::int64_t in_a_node = 0) {
  Measurement m = {"all_reduce", ranks, nodes, 1024, 1e-5};
  m.in_a_node = in_a_node;
  const Status status = CheckPlacement(*MachineNamed(machine, Catalogue::BuiltIn()), m);
  return std::string(status.message());
}

TEST(PlacementTest, RanksFillNodes) {
  EXPECT_EQ(WhyNotPlaced("h100-8x2", 16, 2), "");
  EXPECT_EQ(WhyNotPlaced("h100-8x2", 12, 2, 8), "");
  EXPECT_EQ(WhyNotPlaced("h100-8x2", 4, 1), "");
  EXPECT_EQ(WhyNotPlaced("h100-8x4", 16, 2, 8), "");
  EXPECT_EQ(WhyNotPlaced("v5e-4x4", 16, 1), "");
}

TEST(PlacementTest, OtherMapsSayWhichMachineItWouldBe) {
  EXPECT_EQ(WhyNotPlaced("h100-8x2", 8, 2),
            "--like h100-8x2 has 8 devices in a node, but 8 ranks on 2 nodes were measured, 4 in a "
            "node; name it as h100-4x2");
  EXPECT_EQ(
      WhyNotPlaced("h100-8x2", 12, 2, 6),
      "--like h100-8x2 has 8 devices in a node, but 12 ranks on 2 nodes were measured, 6 in a "
      "node; name it as h100-6x2");
  EXPECT_EQ(WhyNotPlaced("h100-8x2", 32, 4),
            "--like h100-8x2 has 16 devices, but 32 ranks on 4 nodes were measured; name it as "
            "h100-8x4");
  EXPECT_EQ(WhyNotPlaced("h100-8", 12, 1),
            "--like h100-8 has 8 devices, but 12 ranks on 1 node were measured; name it as "
            "h100-8x2");
  EXPECT_EQ(WhyNotPlaced("h100-8x2", 16, 1),
            "--like h100-8x2 has 8 devices in a node, so that 16 ranks need 2, but the log says of "
            "none or of 1; add --nodes 2");
  EXPECT_EQ(
      WhyNotPlaced("v5e-4x4", 16, 4),
      "--like v5e-4x4 has 16 devices in a node, but 16 ranks on 4 nodes were measured, 4 in a "
      "node; give a machine of 4 nodes with 4 devices each");
}

}  // namespace
}  // namespace chorus
