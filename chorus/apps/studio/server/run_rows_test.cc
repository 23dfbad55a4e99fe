#include "chorus/apps/studio/server/run_rows.h"

#include <gtest/gtest.h>

#include <string>

namespace chorus::studio {
namespace {

using answer::Json;

TEST(ReadRows, ADocumentALineAListAndATrace) {
  EXPECT_EQ(ReadRows(R"({"rows": [{"a": 1}]})").rows.dump(), R"([{"rows":[{"a":1}]}])");
  const RunRows lines = ReadRows("{\"a\": 1}\n\nnot JSON\n[2, 3]\n");
  EXPECT_EQ(lines.rows.dump(), R"([{"a":1},2,3])");
  EXPECT_EQ(lines.skipped, 1);
  EXPECT_EQ(lines.unread, 1);
  EXPECT_EQ(ReadRows(R"([{"a": 1}, 2, [3, [4]], "x"])").rows.dump(), R"([{"a":1},2,[3,[4]],"x"])");
  EXPECT_EQ(ReadRows(R"({"a": {"traceEvents": 1}, "traceEvents": [
                     {"ph": "X", "name": "n", "ts": 1, "dur": 2, "pid": 3, "tid": 4, "cat": "c",
                      "args": {"bytes": 8, "other": [1]}},
                     {"ph": "i", "name": "instant"}], "displayTimeUnit": "ns"})")
                .rows.dump(),
            R"([{"name":"n","ph":"X","ts":1,"dur":2,"pid":3,"tid":4,"args":{"bytes":8}}])");
  EXPECT_TRUE(ReadRows("").rows.empty());
  EXPECT_TRUE(ReadRows("no JSON\nat all").rows.empty());
}

TEST(ReadRows, ALongCurveKeepsStepsEvenlyApartAndTheLast) {
  std::string text;
  for (int step = 0; step < 9999; ++step) {
    text += Json{{"step", step}, {"loss_nats", 1}, {"more", "of it"}}.dump() + "\n";
    if (step % 1000 == 999) {
      text += Json{{"step", step}, {"loss_nats", 1}, {"held_out_loss_nats", 2}}.dump() + "\n";
    }
  }
  const RunRows read = ReadRows(text);
  EXPECT_EQ(read.every, 8);  // 1250 of them; 4 would keep 2500
  EXPECT_EQ(read.skipped, 0);
  int held_out = 0, before = -1, points = 0;
  for (const Json& row : read.rows) {
    EXPECT_FALSE(row.contains("more"));
    EXPECT_GE(row["step"].get<int>(), before);  // as in the file
    before = row["step"];
    if (row.contains("held_out_loss_nats")) {
      ++held_out;
      continue;
    }
    EXPECT_TRUE(before % 8 == 0 || before == 9998) << before;
    ++points;
  }
  EXPECT_EQ(held_out, 9);
  EXPECT_EQ(points, 1251);
  EXPECT_EQ(before, 9998);
}

TEST(ReadRows, WhatIsTooMuchIsCounted) {
  std::string rows = "[";
  for (std::size_t i = 0; i < kMostRows + 5; ++i) rows += "1,";
  EXPECT_EQ(ReadRows(rows + "1]").skipped, 6);
  // One row of more parts than all may have, and one that is fine.
  std::string large = "[[";
  for (std::size_t i = 0; i < kMostParts + 5; ++i) large += "1,";
  const RunRows read = ReadRows(large + "1], 7]");
  EXPECT_EQ(read.rows.dump(), "[7]");
  EXPECT_EQ(read.skipped, 1);
  EXPECT_EQ(read.unread, 0);
  const RunRows one = ReadRows("{\"a\": " + large.substr(1) + "1]}");
  EXPECT_TRUE(one.rows.empty());
  EXPECT_EQ(one.skipped, 1);
}

TEST(ReadRows, WhatIsNestedDeepDoesNoHarm) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_LE(ReadRows(deep).rows.size(), 1U);
  EXPECT_LE(ReadRows("{\"traceEvents\": " + deep + "}").rows.dump().size(), 1000U);
}

}  // namespace
}  // namespace chorus::studio
