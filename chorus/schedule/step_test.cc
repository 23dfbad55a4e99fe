#include "chorus/schedule/step.h"

#include <gtest/gtest.h>

#include "chorus/schedule/builder.h"

namespace chorus {
namespace {

TEST(StepTest, PrintsWhatTheTextWouldSay) {
  const Chunk in{BufferKind::kIn, 0, 2, true}, acc{BufferKind::kAcc, 1, 2, false};
  EXPECT_EQ(in.ToString(), "scaled in[2]");
  EXPECT_EQ(acc.ToString(), "acc[1 : 2]");
  Step step;
  step.label = "a[3]";
  step.verb = Verb::kReduce;
  step.chunks = {acc, acc, in};
  EXPECT_EQ(step.ToString(), "a[3]: reduce acc[1 : 2] = acc[1 : 2] + scaled in[2]");
  step.finish = true;
  EXPECT_EQ(step.ToString(), "a[3]: reduce acc[1 : 2] = acc[1 : 2] + scaled in[2] finish");
  step.verb = Verb::kCopy;
  step.chunks.pop_back();
  EXPECT_EQ(step.ToString(), "a[3]: copy acc[1 : 2] = acc[1 : 2] finish");
  step.verb = Verb::kSend;
  step.peer = 4;
  step.message = 5;
  EXPECT_EQ(step.ToString(), "a[3]: send acc[1 : 2], acc[1 : 2] to 4 as 5");
  step.verb = Verb::kRecv;
  step.chunks.clear();
  EXPECT_EQ(step.ToString(), "a[3]: recv signal from 4 as 5");
}

TEST(StepTest, OnlyAccHoldsAccumulatorsAndOnlyTmpAndAccAreScratch) {
  EXPECT_TRUE(HoldsAccumulators(BufferKind::kAcc));
  for (BufferKind buffer : {BufferKind::kIn, BufferKind::kOut, BufferKind::kTmp}) {
    EXPECT_FALSE(HoldsAccumulators(buffer));
  }
  EXPECT_TRUE(IsScratch(BufferKind::kTmp) && IsScratch(BufferKind::kAcc));
  EXPECT_FALSE(IsScratch(BufferKind::kIn) || IsScratch(BufferKind::kOut));
}

// What Make refuses, built without the parser.
TEST(MakeTest, RefusesWhatNoTextCouldSay) {
  const auto error = [](const std::function<void(Schedule::Definition&)>& change) {
    Schedule::Definition d;
    d.name = "x";
    StepFamily copy;
    copy.label = Label("c");
    copy.chunks = {Out(0), In(0)};
    d.op = OpKind::kBroadcast;
    d.body.push_back({copy});
    change(d);
    return Schedule::Make(d).status().message();
  };
  const auto step = [](Schedule::Definition& d) -> StepFamily& {
    return std::get<StepFamily>(d.body[0].value);
  };
  EXPECT_EQ(error([](auto&) {}), "");
  EXPECT_EQ(error([](auto& d) { d.name = "two words"; }),
            "'two words' cannot name a schedule; use letters, digits and _");
  EXPECT_EQ(error([](auto& d) { d.order = ReduceOrder::kAny; }),
            "schedule x broadcast: order is any; broadcast needs 'none'");
  EXPECT_EQ(error([](auto& d) { d.op = OpKind::kReduce; }),
            "schedule x reduce: order is none; reduce needs 'rank' or 'any'");
  EXPECT_EQ(error([&](auto& d) { step(d).chunks.pop_back(); }),
            "schedule x broadcast: step c: copy takes 2 chunks, 1 are given");
  EXPECT_EQ(error([&](auto& d) { step(d).verb = Verb::kReduce; }),
            "schedule x broadcast: step c: reduce takes 3 chunks, 2 are given");
  EXPECT_EQ(error([&](auto& d) {
              step(d).verb = Verb::kSend;
              step(d).finish = true;
            }),
            "schedule x broadcast: step c: only reduce and copy can finish a value");
  EXPECT_EQ(error([&](auto& d) { step(d).label = Label("for"); }),
            "schedule x broadcast: step for: 'for' cannot name a step");
  EXPECT_EQ(error([](auto& d) {
              d.body.push_back({Let{"N", 1}});
            }),
            "schedule x broadcast: 'N' cannot name a variable");
  EXPECT_EQ(error([](auto& d) { d.tmp_slots = Expr::Variable("k"); }),
            "schedule x broadcast: 'k' has no value here; defined are r, N, root");
}

}  // namespace
}  // namespace chorus
