// chorus hardware from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/tool.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;

TEST(Hardware, ListsAllAndShowsOneWithItsSources) {
  const ToolOutcome all = RunTool({"hardware"});
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_THAT(all.out, HasSubstr("h100     switch of 8, reduces      450 GB/s"));
  EXPECT_THAT(all.out, HasSubstr("All bandwidths are per direction."));
  const ToolOutcome one = RunTool({"hardware", "b200"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.out, HasSubstr("memory                   192 GB  scaling-book\n"));
  EXPECT_THAT(one.out, HasSubstr("    or                   180 GB  ml-eng\n"));
}

TEST(Hardware, AMachineShowsItsTopology) {
  const ToolOutcome slice = RunTool({"hardware", "v5e-8x16"});
  EXPECT_THAT(slice.out, HasSubstr("torus 8 (no wrap) x 16 (wraps), 45 GB/s per direction"));
  EXPECT_THAT(slice.out, HasSubstr("only an axis of 16 wraps"));
}

TEST(Hardware, JsonHasEveryFigure) {
  const ToolOutcome one = RunTool({"hardware", "h800", "--json"});
  EXPECT_EQ(one.exit_code, 0);
  const auto json = nlohmann::json::parse(one.out);
  EXPECT_EQ(json["figures"]["link_bandwidth"]["value"], 200e9);
  EXPECT_EQ(json["figures"]["link_bandwidth"]["also"][0]["value"], 300e9);
  EXPECT_EQ(json["figures"]["link_bandwidth"]["unit"], "bytes_per_second_one_direction");
}

TEST(Hardware, BadInput) {
  ExpectBadInput({"hardware", "h10"}, "there is no hardware 'h10'; did you mean 'h100'?");
  ExpectBadInput({"hardware", "v5e-32x4"}, "an axis of 32 is too long for v5e; at most 16");
  ExpectBadInput({"hardware", "--catalogue", "/no/such.toml"},
                 "catalogue '/no/such.toml' cannot be read (No such file or directory); give the "
                 "path of a TOML file");
}

}  // namespace
}  // namespace chorus
