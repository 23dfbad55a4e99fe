#include "chorus/apps/answer/measured_answer.h"

#include <gtest/gtest.h>

namespace chorus::answer {
namespace {

Json PointOfSize(const std::string& op, const std::string& on, std::int64_t bytes) {
  const Result<MeasuredAnswer> answer = Answer(MeasuredQuestion{op, on});
  EXPECT_TRUE(answer.ok()) << answer.status().message();
  if (!answer.ok()) return Json();
  const Json json = ToJson(*answer);
  for (const Json& point : json["points"]) {
    if (point["bytes"] == bytes) return point;
  }
  return Json();
}

TEST(MeasuredAnswer, AMeasuredTimeGivesBandwidths) {
  const Json point = PointOfSize("all_reduce", "a100-8", 8388608);
  ASSERT_TRUE(point.is_object());
  EXPECT_DOUBLE_EQ(point["seconds"].get<double>(), 133.5e-6);
  EXPECT_NEAR(point["busbw_bytes_per_second"].get<double>(), 109.93e9, 0.05e9);
  EXPECT_EQ(point["remark"], "");
}

// 370 GB/s on the links of 8 ranks: 10 GB x 2 x 7/8 / 370 GB/s.
TEST(MeasuredAnswer, AMeasuredBandwidthGivesATime) {
  const Json point = PointOfSize("all_reduce", "h100-8", 10'000'000'000);
  ASSERT_TRUE(point.is_object());
  EXPECT_NEAR(point["seconds"].get<double>(), 47.297e-3, 1e-6);
  EXPECT_NEAR(point["busbw_bytes_per_second"].get<double>(), 370e9, 1e3);
  EXPECT_EQ(point["remark"], "from its bandwidth; plot peak");
}

}  // namespace
}  // namespace chorus::answer
