#include "chorus/base/trace.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

TEST(TraceTest, AnEventIsOneObject) {
  TraceEvent event;
  event.name = "all_reduce #17";
  event.track = 2;
  event.begin_us = 12.5;
  event.duration_us = 3.25;
  event.arguments = {{"bytes", 4096.0}, {"algorithm", "ring"}};
  EXPECT_EQ(TraceLine(event),
            R"({"name": "all_reduce #17", "ph": "X", "pid": 0, "tid": 2, "ts": 12.500000, )"
            R"("dur": 3.250000, "args": {"bytes": 4096, "algorithm": "ring"}})");
  event.duration_us.reset();
  event.arguments.clear();
  EXPECT_EQ(TraceLine(event),
            R"({"name": "all_reduce #17", "ph": "i", "pid": 0, "tid": 2, "ts": 12.500000, )"
            R"("s": "t"})");
}

TEST(TraceTest, TextsAreQuoted) {
  TraceEvent event;
  event.name = "a \"b\" \\ \n";
  EXPECT_NE(TraceLine(event).find(R"("a \"b\" \\ \u000a")"), std::string::npos);
}

TEST(TraceTest, TracksAndProcessesHaveNames) {
  EXPECT_EQ(
      TraceNameLine(1, 3, "rank 3"),
      R"({"name": "thread_name", "ph": "M", "pid": 1, "tid": 3, "args": {"name": "rank 3"}})");
  EXPECT_EQ(TraceNameLine(1, -1, "job"),
            R"({"name": "process_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": "job"}})");
}

TEST(TraceTest, AFileIsAnArray) {
  EXPECT_EQ(TraceFile({}), "[\n\n]\n");
  EXPECT_EQ(TraceFile({"{}", "{}"}), "[\n{},\n{}\n]\n");
}

}  // namespace
}  // namespace chorus
