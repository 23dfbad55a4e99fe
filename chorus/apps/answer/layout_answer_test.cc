#include "chorus/apps/answer/layout_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chorus/base/scanner.h"

namespace chorus::answer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(LayoutAnswer, UnevenBlocksReplicasAndSums) {
  const Result<LayoutAnswer> a = Answer(LayoutQuestion{"X=2,Y=2", "A[I_X, J]{U_Y}", "I=5,J=7"});
  ASSERT_TRUE(a.ok()) << a.status().ToString();
  const Json json = ToJson(*a);
  EXPECT_EQ(json["global_bytes"], 140);
  EXPECT_EQ(json["most_bytes"], 84);
  EXPECT_EQ(json["least_bytes"], 56);
  EXPECT_EQ(json["total_bytes"], 280);
  EXPECT_EQ(json["copies"], 2.0);
  EXPECT_EQ(json["dims"][0]["blocks"].dump(), R"([{"begin":0,"size":3},{"begin":3,"size":2}])");
  EXPECT_EQ(json["devices"][3]["coordinates"].dump(), R"({"X":1,"Y":1})");
  EXPECT_EQ(json["devices"][3]["local_shape"].dump(), "[2,7]");
  EXPECT_EQ(json["devices"][3]["addends"].dump(), "[2,3]");
  EXPECT_EQ(json["devices"][3]["replicas"].dump(), "[3]");
  EXPECT_EQ(json["sum_groups"].dump(), "[[0,1],[2,3]]");
}

TEST(LayoutAnswer, AnAxisThatIsNotUsedRepeats) {
  const Result<LayoutAnswer> a = Answer(LayoutQuestion{"X=2,Y=3", "A[I_X]", "I=4", "bf16"});
  ASSERT_TRUE(a.ok());
  const Json json = ToJson(*a);
  EXPECT_EQ(json["repeated"].dump(), R"(["Y"])");
  EXPECT_EQ(json["replica_groups"].dump(), "[[0,1,2],[3,4,5]]");
  EXPECT_EQ(json["devices"][4]["block"], 1);
  EXPECT_EQ(json["total_bytes"], 6 * 2 * 2);
}

TEST(LayoutAnswer, IllegalSpecsShowThePlaceAndWhatIsLegal) {
  const LayoutQuestion twice{"X=2", "A[I_X, J_X]", "I=4,J=4"};
  const std::optional<ErrorPlace> place = PlaceOf(Answer(twice).status());
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->column, 9u);
  EXPECT_THAT(SpellingsFor(twice), ElementsAre("A[I_X, J]", "A[I, J_X]"));

  const LayoutQuestion elsewhere{"X=2", "A[I_X, J_XZ]{U_Z}", "I=4,J=4"};
  EXPECT_FALSE(Answer(elsewhere).ok());
  const LayoutQuestion missing{"X=2", "A[I_X, J_Z]", "I=4,J=4"};
  const std::optional<ErrorPlace> axis = PlaceOf(Answer(missing).status());
  ASSERT_TRUE(axis.has_value());
  EXPECT_EQ(axis->column, 9u);
  EXPECT_THAT(SpellingsFor(missing), ElementsAre("A[I_X, J]"));
}

TEST(LayoutAnswer, RefusalsSayWhatWouldBeRight) {
  EXPECT_THAT(Answer(LayoutQuestion{"X=2", "A[I_X]", "J=4"}).status().message(),
              HasSubstr("--dims: "));
  EXPECT_THAT(Answer(LayoutQuestion{"X=2000", "A[I_X]", "I=4"}).status().message(),
              HasSubstr("at most 1024"));
  EXPECT_THAT(Answer(LayoutQuestion{"X=2", "A[I_X]", "I=4", "f31"}).status().message(),
              HasSubstr("write f32"));
}

}  // namespace
}  // namespace chorus::answer
