#include "chorus/probe/speeds.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace chorus {
namespace {

// What any machine of the last twenty years does, however busy; and nothing of the caller changes.
TEST(SpeedsTest, AreThoseOfAComputer) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const Result<HostSpeeds> speeds = MeasureHostSpeeds();
  ASSERT_TRUE(speeds.ok()) << speeds.status().ToString();
  EXPECT_GE(speeds->cores, 1);
  EXPECT_GT(speeds->one_way.value(), 1e-9);
  EXPECT_LT(speeds->one_way.value(), 0.1);
  EXPECT_GT(speeds->hand_over.value(), 1e6);
  EXPECT_LT(speeds->hand_over.value(), 1e13);
  EXPECT_GT(speeds->copy.value(), 1e6);
  EXPECT_LT(speeds->copy.value(), 1e13);
  EXPECT_GT(speeds->read.value(), 1e6);
  EXPECT_LT(speeds->read.value(), 1e13);
  EXPECT_GT(speeds->product.value(), 1e6);
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace chorus
