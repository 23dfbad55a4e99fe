#include "chorus/collective/trace_recorder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "chorus/base/test_path_test.h"
#include "chorus/collective/ranks_test.h"

namespace chorus {
namespace {

using std::chrono::nanoseconds;
using testing::HasSubstr;

std::vector<std::string> LinesOf(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::remove(path.c_str());
  return lines;
}

TEST(TraceRecorderTest, WritesOperationsAndStepsAtItsEnd) {
  const std::string path = TestPath("recorder");
  {
    TraceRecorder recorder(path, 3);
    recorder.Add(
        {"all_reduce #1", "world", "ring, lanes", 64, false, nanoseconds(1500), nanoseconds(4000)});
    TransportPoint point;
    point.kind = TransportPoint::Kind::kLaneFrom;
    point.peer = 2;
    // Looking again for what has not come is no new step.
    for (int k = 0; k < 5; ++k) recorder.Add(point);
    point.kind = TransportPoint::Kind::kCommit;
    point.bytes = 320;
    for (int k = 0; k < 2; ++k) recorder.Add(point);
  }
  const std::vector<std::string> lines = LinesOf(path);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_THAT(lines[0], HasSubstr(R"("thread_name")"));
  EXPECT_EQ(lines[1],
            R"({"name": "all_reduce #1", "ph": "X", "pid": 0, "tid": 3, "ts": 1.500000, "dur": )"
            R"(2.500000, "args": {"group": "world", "algorithm": "ring, lanes", "bytes": 64, )"
            R"("outcome": "ok"}})");
  EXPECT_THAT(lines[2], HasSubstr(R"({"name": "look for 2", "ph": "i")"));
  EXPECT_THAT(lines[3], HasSubstr(R"({"name": "show to 2", "ph": "i")"));
  EXPECT_THAT(lines[4], HasSubstr(R"("args": {"bytes": 320})"));
}

// Every rank's file has its operations, in order, with the steps of each; and one that failed.
TEST(TraceRecorderTest, EveryRankWritesItsOwnFile) {
  const std::string prefix = TestPath("trace");
  setenv("CHORUS_TRACE", prefix.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  const auto errors = Errors(2, RankKind::kThreads, [](Group& group) -> Status {
    std::vector<float> x(100, 1.0f);
    CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
    CHORUS_RETURN_IF_ERROR(group.Barrier());
    if (group.rank() == 1) return OkStatus();
    const Status left = group.AllReduce(x);
    return left.code() == StatusCode::kPeerLost ? OkStatus() : Internal(left.ToString());
  });
  unsetenv("CHORUS_TRACE");  // NOLINT(concurrency-mt-unsafe)
  EXPECT_THAT(errors, testing::Each("ok"));
  for (int rank = 0; rank < 2; ++rank) {
    std::string text;
    for (const std::string& line : LinesOf(fmt::format("{}.{}", prefix, rank))) text += line + "\n";
    EXPECT_THAT(text, HasSubstr(R"("name": "all_reduce #1", "ph": "X", "pid": 0, "tid": )" +
                                std::to_string(rank)));
    EXPECT_THAT(text, HasSubstr(R"("name": "barrier #2")"));
    EXPECT_THAT(text, HasSubstr(fmt::format(R"("name": "look for {}")", 1 - rank)));
    EXPECT_EQ(text.find(R"("outcome": "failed")") != std::string::npos, rank == 0);
  }
}

}  // namespace
}  // namespace chorus
