// The flight recorder: what each rank keeps of its last operations, and the merged report.
#include "chorus/collective/flight.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "chorus/collective/ranks_test.h"

namespace chorus {
namespace {

using testing::HasSubstr;
using State = OperationRecord::State;
using std::chrono::milliseconds;
using Records = std::vector<std::vector<OperationRecord>>;

OperationRecord Of(std::uint64_t number, State state, std::uint64_t fingerprint = 1) {
  return {number, fmt::format("op {}", fingerprint), "ring, lanes", fingerprint, state, {}, {}};
}

std::vector<OperationRecord> Upto(std::uint64_t last, State state = State::kFinished) {
  std::vector<OperationRecord> records;
  for (std::uint64_t k = 1; k < last; ++k) records.push_back(Of(k, State::kFinished));
  records.push_back(Of(last, state));
  return records;
}

TEST(FlightTest, TheFirstDifferenceIsByCallsThenByHowFar) {
  EXPECT_EQ(FirstDifference({Upto(3), Upto(3)}), 0U);
  EXPECT_EQ(FirstDifference({{}, {}}), 0U);
  EXPECT_EQ(FirstDifference({Upto(3), Upto(5), Upto(4)}), 4U);
  EXPECT_EQ(FirstDifference({{}, Upto(2)}), 1U);
  Records records = {Upto(5), Upto(3)};
  records[1][1].fingerprint = 7;
  EXPECT_EQ(FirstDifference(records), 2U);
  // Before what the second rank still keeps, nothing is known.
  records = {Upto(5), {Of(3, State::kFinished), Of(4, State::kFinished), Of(5, State::kStarted)}};
  records[0][1].fingerprint = 7;
  EXPECT_EQ(FirstDifference(records), 0U);
  records = {Upto(5), Upto(5)};
  records[0][2].state = State::kRefused;
  EXPECT_EQ(FirstDifference(records), 3U);
}

TEST(FlightTest, TheReportSaysTheSameOfManyRanksOnce) {
  Records records(5, Upto(3, State::kStarted));
  records[2] = Upto(2);
  records[0].back().started = milliseconds(800);
  EXPECT_EQ(MergeRecords("world", records, milliseconds(1000), 2),
            "flight recorder of group world, #2 to #3; ranks differ from #3 on\n"
            "  #2    all ranks: op 1 (ring, lanes): finished\n"
            "> #3    ranks 0, 1, 3, 4: op 1 (ring, lanes): started 200.0 ms ago\n"
            "        rank 2: not called\n");
  records[4].back().fingerprint = 9;
  records[4].back().call = "op 9";
  records[4].back().state = State::kFailed;
  EXPECT_EQ(MergeRecords("world", records, milliseconds(1000), 1),
            "flight recorder of group world, #3 to #3; ranks differ from #3 on\n"
            "> #3    ranks 0, 1, 3: op 1 (ring, lanes): started 200.0 ms ago\n"
            "        rank 2: not called\n"
            "        rank 4: op 9 (ring, lanes): failed\n");
}

class FlightRecorderTest : public testing::TestWithParam<RankKind> {};
INSTANTIATE_TEST_SUITE_P(All, FlightRecorderTest, testing::ValuesIn(kKinds),
                         [](const auto& test) { return std::string(Name(test.param)); });

TEST_P(FlightRecorderTest, KeepsTheLastThousandOfEveryRank) {
  const auto errors = Errors(2, GetParam(), [](Group& group) -> Status {
    std::vector<float> x(8, 1.0f);
    std::vector<double> large(20'000, 1.0);
    for (int k = 0; k < 1200; ++k) CHORUS_RETURN_IF_ERROR(group.AllReduce(x, ReduceOp::kMax));
    CHORUS_RETURN_IF_ERROR(group.AllReduce(large, ReduceOp::kSum, {{}, "ring", nullptr}));
    CHORUS_RETURN_IF_ERROR(group.Barrier());
    for (int rank = 0; rank < 2; ++rank) {
      const std::vector<OperationRecord> records = group.Records(rank);
      // The other may not have seen the end of the barrier yet, or be in the next one already.
      const std::uint64_t ahead = rank != group.rank() && records.back().number == 1203 ? 1 : 0;
      if (records.size() != 1000 || records.back().number != 1202 + ahead)
        return Internal("others");
      const OperationRecord& first = records.front();
      if (first.number != 203 + ahead || first.call != "all_reduce f32 x 8 max")
        return Internal(first.call);
      if (first.state != State::kFinished || first.algorithm.empty()) return Internal("state");
      const OperationRecord& last = records[998 - ahead];
      if (last.call != "all_reduce f64 x 20000 sum" || last.algorithm != "ring, mapped or stages") {
        return Internal(last.call + last.algorithm);
      }
      if (last.started.count() == 0 || last.ended <= last.started) return Internal("times");
    }
    if (group.Records(0, 3).size() != 3 || !group.Records(2).empty()) return Internal("bounds");
    return group.Barrier();
  });
  EXPECT_THAT(errors, testing::Each("ok"));
}

TEST_P(FlightRecorderTest, ShowsWhatWaitsAndWhatWasRefused) {
  const auto errors = Errors(2, GetParam(), [](Group& group) -> Status {
    std::vector<float> x(8, 1.0f);
    static_cast<void>(group.AllReduce(MutableBuffer(nullptr, 8, DType::kF32)));  // #1, on both
    if (group.rank() == 1) {
      std::this_thread::sleep_for(milliseconds(100));
      CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
      return group.Barrier();
    }
    std::vector<float> y(8, 1.0f);
    Work first = group.AllReduceAsync(x);
    Work second = group.BarrierAsync();
    const std::vector<OperationRecord> records = group.Records(0);
    const State expected[] = {State::kRefused, State::kStarted, State::kPosted};
    if (records.size() != 3) return Internal(fmt::format("{} records", records.size()));
    for (std::size_t k = 0; k < 3; ++k) {
      if (records[k].state != expected[k]) return Internal(fmt::format("state of #{}", k + 1));
    }
    CHORUS_RETURN_IF_ERROR(first.Wait());
    return second.Wait();
  });
  EXPECT_THAT(errors, testing::Each("ok"));
}

// Who notices reports; where the ranks part is pointed at.
TEST_P(FlightRecorderTest, IsReportedWhenADeadlinePasses) {
  // A pipe, since ranks may be processes.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  JoinOptions options = Patient();
  options.report = [fd = ends[1]](const std::string& text) {
    EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  };
  const auto errors = Errors(
      3, GetParam(),
      [](Group& group) -> Status {
        std::vector<float> x(1024, 1.0f);
        for (int k = 0; k < 30; ++k) CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
        if (group.rank() == 2) std::this_thread::sleep_for(milliseconds(900));
        // Rank 1 waits for longer, so that one rank is the first.
        const milliseconds timeout(group.rank() == 0 ? 300 : 5000);
        return group.AllReduce(x, ReduceOp::kSum, {timeout, "", nullptr});
      },
      options);
  close(ends[1]);
  std::string text(10'000, ' ');
  const ssize_t size = read(ends[0], text.data(), text.size());
  close(ends[0]);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  EXPECT_THAT(text, HasSubstr("chorus: rank 0 waited 300 ms for "));
  EXPECT_THAT(text, HasSubstr("flight recorder of group world, #20 to #31; ranks differ from #31"));
  EXPECT_THAT(text, HasSubstr("  #30   all ranks: all_reduce f32 x 1024 sum"));
  EXPECT_THAT(text, HasSubstr("> #31   ranks 0, 1: all_reduce f32 x 1024 sum"));
  EXPECT_THAT(text, HasSubstr(": started "));
  EXPECT_THAT(text, HasSubstr("        rank 2: not called\n"));
  EXPECT_EQ(text.find("chorus:", 1), std::string::npos) << "two ranks reported";
}

// The memory of a process that was killed still tells what it did.
TEST(FlightRecorderProcessTest, ShowsWhatADeadRankDidLast) {
  const auto outcomes = OutcomeOfRanks(
      2, RankKind::kProcesses,
      [](Group& group) -> Result<std::string> {
        std::vector<float> x(8, 1.0f);
        CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
        if (group.rank() == 1) kill(getpid(), SIGKILL);
        if (group.Barrier().ok()) return Internal("the barrier was done");
        return group.FlightReport();
      },
      Patient());
  ASSERT_TRUE(outcomes[0].ok()) << outcomes[0].status().message();
  EXPECT_THAT(*outcomes[0], HasSubstr("all ranks: all_reduce f32 x 8 sum"));
  EXPECT_THAT(*outcomes[0], HasSubstr("> #2    rank 0: barrier (dissemination, lanes): failed"));
  EXPECT_THAT(*outcomes[0], HasSubstr("rank 1: not called"));
}

}  // namespace
}  // namespace chorus
