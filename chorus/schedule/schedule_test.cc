#include "chorus/schedule/schedule.h"

#include <gtest/gtest.h>

#include "chorus/schedule/builder.h"

namespace chorus {
namespace {

constexpr std::string_view kRing = R"(schedule ring all_gather
  blocks N
  owns r
begin
  c: copy out[r] = in[r]
  for k in 0 .. N - 2
    s[k]: send out[(r - k) % N] to (r + 1) % N as k after c, v[k - 1]
    v[k]: recv out[(r - k - 1) % N] from (r - 1) % N as k
  end
end
)";

Schedule BuildRing() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), k = Expr::Variable("k");
  const LabelExpr c = Label("c"), s = Label("s"), v = Label("v");
  ScheduleBuilder b("ring", OpKind::kAllGather);
  b.Blocks(n);
  b.Copy(c, Out(r), In(r));
  b.For(k, 0, n - 2, [&] {
    b.Send(s[k], {Out((r - k) % n)}).To((r + 1) % n).As(k).After(c, v[k - 1]);
    b.Recv(v[k], {Out((r - k - 1) % n)}).From((r - 1) % n).As(k);
  });
  return std::move(b).Build();
}

TEST(ScheduleTest, TheBuilderTheTextAndTheParserAgree) {
  EXPECT_EQ(BuildRing().ToString(), kRing);
  const Result<Schedule> parsed = Schedule::Parse(kRing);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(*parsed, BuildRing());
}

TEST(ScheduleTest, ExpandsOneRank) {
  const auto steps = BuildRing().ForRank(3, 1);
  ASSERT_TRUE(steps.ok()) << steps.status().ToString();
  std::vector<std::string> text;
  for (const Step& step : *steps) text.push_back(step.ToString());
  EXPECT_EQ(text, (std::vector<std::string>{
                      "c: copy out[1] = in[1]",
                      "s[0]: send out[1] to 2 as 0",
                      "v[0]: recv out[0] from 0 as 0",
                      "s[1]: send out[0] to 2 as 1",
                      "v[1]: recv out[2] from 0 as 1",
                  }));
  EXPECT_EQ((*steps)[1].after, (std::vector<std::int64_t>{0}));  // v[-1] does not exist
  EXPECT_EQ((*steps)[3].after, (std::vector<std::int64_t>{0, 2}));
}

}  // namespace
}  // namespace chorus
