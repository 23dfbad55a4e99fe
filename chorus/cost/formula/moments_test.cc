#include "chorus/cost/formula/moments.h"

#include <gtest/gtest.h>

#include "chorus/cost/formula/clock.h"

namespace chorus {
namespace {

// A machine of nodes, told in the keys of a machine file.
Wiring WiringOfText(const std::string& text, std::int64_t ranks) {
  const auto machine = ParseMachine("[machine]\n" + text, "test.toml", Catalogue::BuiltIn());
  EXPECT_TRUE(machine.ok()) << machine.status().message();
  return WiringOf(*machine, ranks);
}

// The messages that a formula lists; none if it is in rounds, or refuses.
std::shared_ptr<const Timetable> ListedBy(const Formula& formula, const Wiring& wiring) {
  Question q;
  q.op = formula.op;
  q.bytes = 1;
  q.accumulator_ratio = 2;
  std::string name(formula.algorithm);
  if (name.back() == ':') name = ComparedName(name, wiring);
  if (name.empty()) return nullptr;
  q.numbers = *NumbersOf(name);
  const Result<Phases> phases = formula.phases(wiring, q);
  return phases.ok() ? phases->messages : nullptr;
}

// What is worked out in order, as far as messages do not meet, is what all of it event by event is.
TEST(MomentsTest, InOrderAndByEventsAreTheSame) {
  std::int64_t compared = 0;
  for (const char* text :
       {"on = \"h100-8x4\"", "on = \"h100-8x6\"\nleaf_nodes = 3\noversubscription = 4.0",
        "on = \"v100-8x3\"", "on = \"mi300x-8x2\"", "on = \"v5e-4x4\""}) {
    for (const std::int64_t missing : {0, 3}) {
      const Wiring whole = WiringOfText(text, 16);
      if (whole.fabric == Fabric::kTorus && missing > 0) continue;
      const Wiring wiring = WiringOfText(text, 16 - missing);
      for (const Formula& formula : AllFormulas()) {
        const auto table = ListedBy(formula, wiring);
        if (table == nullptr) continue;
        for (const double bytes : {0.0, 1e4, 3e5, 1e8}) {
          const Moments in_order = MomentsOf(*table, bytes, true);
          Moments by_events;
          by_events.of.resize(table->messages().size());
          ByEvents(*table, bytes, true, static_cast<std::int32_t>(table->messages().size()),
                   by_events);
          for (std::size_t i = 0; i < in_order.of.size(); ++i) {
            ASSERT_NEAR(in_order.of[i].ended, by_events.of[i].ended, 1e-12 * in_order.End())
                << formula.op << " " << formula.algorithm << " on " << text << ", message " << i;
          }
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 500);
}

// Two messages into one port, of which the second begins when the first is half through.
TEST(MomentsTest, MessagesThatMeetShareThePort) {
  const Wiring wiring = WiringOfText(
      "fabric = \"switch\"\nnode = 4\nlink_bandwidth = \"1 GB/s\"\nlink_latency = \"0 s\"", 4);
  Timetable table(wiring);
  const auto first = table.Send(0, 1, 1, {});
  const auto second = table.Send(1, 2, 1, {first});
  const auto long_one = table.Send(3, 2, 2, {});
  const auto behind = table.Send(2, 0, 1, {long_one});
  table.Close();
  const Moments moments = MomentsOf(table, 1e9, true);
  EXPECT_DOUBLE_EQ(moments.of[first].ended, 1);
  EXPECT_DOUBLE_EQ(moments.of[second].ended, 3);
  EXPECT_DOUBLE_EQ(moments.of[long_one].ended, 3);
  EXPECT_DOUBLE_EQ(moments.of[behind].ended, 4);
  EXPECT_EQ(moments.last, behind);
}

// Messages of ranks that do alike are listed once: 8 of 16,384, in 14 rounds there and back.
TEST(MomentsTest, WholeNodesAreListedOnce) {
  const Wiring wiring = WiringOfText("on = \"h100-8x2048\"", 16384);
  std::int64_t sent = 0;
  const Result<const Formula*> formula = FindFormula("all_reduce", "halving_doubling");
  const auto table = ListedBy(**formula, wiring);
  ASSERT_NE(table, nullptr);
  for (const Timetable::Message& message : table->messages()) sent += message.IsSent() ? 1 : 0;
  EXPECT_EQ(sent, 8 * 14 * 2);
}

// Trees over 12,500 nodes of 8: between nodes all messages; inside, of half the nodes those of
// their first rank, which is busy outside as well, and of the others one for all.
TEST(MomentsTest, PartsInsideNodesAreListedOnce) {
  const Wiring wiring = WiringOfText("on = \"h100-8x12500\"", 100'000);
  for (const char* op : {"broadcast", "reduce"}) {
    const auto table = ListedBy(**FindFormula(op, "binomial"), wiring);
    ASSERT_NE(table, nullptr);
    std::int64_t sent = 0;
    for (const Timetable::Message& message : table->messages()) sent += message.IsSent() ? 1 : 0;
    EXPECT_GE(sent, 12'499 + 3 * 6'250) << op;
    EXPECT_LE(sent, 12'499 + 3 * 6'250 + 12) << op;
  }
}

// Where the fastest of all changes between two sizes, to the byte.
TEST(MomentsTest, FasterFromTheByteWhereTimesCross) {
  const Wiring wiring = WiringOfText("on = \"h100-8x4\"", 32);
  for (const char* op : {"all_reduce", "broadcast", "all_gather"}) {
    Question q;
    q.op = op;
    const auto all = ComparisonBySize::Of(wiring, q, LatencyModel::kSum);
    ASSERT_TRUE(all.ok());
    int crossed = 0;
    for (Bytes low(1 << 10); low.value() < 1 << 28; low = Bytes(2 * low.value())) {
      const Bytes high(2 * low.value());
      const auto fastest = [&](std::int64_t bytes) {
        return all->At(static_cast<double>(bytes))->front().algorithm;
      };
      const std::string before = fastest(low.value()), now = fastest(high.value());
      if (before == now) continue;
      ++crossed;
      const Result<Bytes> from = all->FasterFrom(low, high, before, now);
      ASSERT_TRUE(from.ok()) << from.status().message();
      const auto time = [&](std::int64_t bytes, const std::string& algorithm) {
        Question at = q;
        at.bytes = static_cast<double>(bytes);
        return EstimateCollective(wiring, at, algorithm, LatencyModel::kSum)->time;
      };
      EXPECT_LT(time(from->value(), now), time(from->value(), before)) << op;
      EXPECT_GE(time(from->value() - 1, now), time(from->value() - 1, before)) << op;
    }
    EXPECT_GT(crossed, 0) << op;
  }
}

// One list serves every size.
TEST(MomentsTest, EstimatesBySizeAreThoseOfEachSize) {
  const Wiring wiring = WiringOfText("on = \"h100-8x4\"", 29);
  Question q;
  q.op = "all_reduce";
  const auto all = ComparisonBySize::Of(wiring, q, LatencyModel::kSum);
  ASSERT_TRUE(all.ok()) << all.status().message();
  for (const double bytes : {0.0, 100.0, 1e6, 3e9}) {
    q.bytes = bytes;
    const auto once = CompareAlgorithms(wiring, q, LatencyModel::kSum);
    const auto again = all->At(bytes);
    ASSERT_TRUE(once.ok() && again.ok());
    ASSERT_EQ(once->size(), again->size());
    for (std::size_t i = 0; i < once->size(); ++i) {
      EXPECT_EQ((*once)[i].algorithm, (*again)[i].algorithm);
      EXPECT_EQ((*once)[i].time, (*again)[i].time);
    }
  }
  EXPECT_EQ(all->At(-1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(all->FasterFrom(Bytes(1), Bytes(2), "ring", "sharp").status().code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace chorus
