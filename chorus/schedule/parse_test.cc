// Errors of schedule text point at what is wrong, and no text can do harm.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "chorus/base/random.h"
#include "chorus/schedule/schedule.h"

namespace chorus {
namespace {

// Everything the language has.
constexpr std::string_view kFull = R"(schedule example reduce
  blocks 2 * N
  order any
  tmp N
  acc 2
  tiles 3
begin
  u: copy out[0] = scaled in[0] finish if N == 1 && r == root
  for k in 0 .. N - 2
    let b = (r - k) % N
    for q in 0 .. 1
      s[k, q]: send in[b], (q == 0 ? tmp[b : b] : acc[q : b]), for j in 0 .. q if j != k: in[j] to (r + 1) % N as k * 2 + q after u, a[k - 1], s[*]
    end
    v[k]: recv signal from (r - 1) % N as k
    a[k]: reduce acc[k % 2 : b] = acc[k % 2 : b] + scaled in[b] finish after v[k] if k < N - 2
  end
end
)";

TEST(ParseTest, ReadsEverythingThatIsPrinted) {
  const Result<Schedule> schedule = Schedule::Parse(kFull);
  ASSERT_TRUE(schedule.ok()) << schedule.status().ToString();
  EXPECT_EQ(schedule->ToString(), kFull);
  EXPECT_EQ(schedule->name(), "example");
  EXPECT_EQ(schedule->op(), OpKind::kReduce);
  EXPECT_EQ(schedule->order(), ReduceOrder::kAny);
  EXPECT_EQ(schedule->tiles(), 3);
}

TEST(ParseTest, LineEndsAndCommentsDoNotMatter) {
  const auto a = Schedule::Parse(
      "schedule x barrier # no blocks\n blocks 0 begin v: recv signal from 1 as\n\n 0 after v end");
  ASSERT_TRUE(a.ok()) << a.status().ToString();
  EXPECT_EQ(a->ToString(),
            "schedule x barrier\n  blocks 0\nbegin\n  v: recv signal from 1 as 0 after v\nend\n");
}

std::string ErrorOf(std::string_view header, std::string_view body) {
  const std::string text =
      "schedule x " + std::string(header) + "\nbegin\n" + std::string(body) + "\nend";
  const Result<Schedule> schedule = Schedule::Parse(text);
  return schedule.ok() ? "no error" : schedule.status().message();
}

TEST(ParseTest, ErrorsOfTheHeader) {
  EXPECT_EQ(ErrorOf("allreduce blocks 1", ""),
            "1:12: expected an operation (one of all_gather reduce_scatter all_reduce broadcast "
            "reduce barrier gather scatter all_to_all scan exscan), found 'allreduce'");
  EXPECT_EQ(ErrorOf("barrier", ""), "2:1: expected 'blocks' after the operation, found 'begin'");
  EXPECT_EQ(ErrorOf("all_gather blocks N", ""),
            "2:1: expected 'owns' (the block a rank owns), found 'begin'");
  EXPECT_EQ(ErrorOf("all_reduce blocks N order none", ""),
            "1:38: expected the order 'rank' or 'any', found 'none'");
  EXPECT_EQ(ErrorOf("barrier blocks 0 tiles N", ""),
            "1:35: the number of tiles in flight must be a plain number");
  EXPECT_EQ(ErrorOf("barrier blocks 0 tiles 0", ""),
            "schedule x barrier: 0 tiles in flight; 1 to 1024 are possible");
  EXPECT_EQ(ErrorOf("barrier blocks root", ""),
            "schedule x barrier: 'root' has no value here; defined are r, N");
  EXPECT_EQ(Schedule::Parse("").status().message(),
            "1:1: expected 'schedule' at the beginning, found the end of the text");
  EXPECT_EQ(Schedule::Parse("schedule send barrier").status().message(),
            "1:10: 'send' is a word of the language and cannot name the algorithm");
}

TEST(ParseTest, ErrorsOfTheBodyPointAtLineAndColumn) {
  const auto error = [](std::string_view body) { return ErrorOf("broadcast blocks 1", body); };
  EXPECT_EQ(error("  s: push in[0] to 1 as 0"),
            "3:6: expected send, recv, reduce or copy, found 'push'");
  EXPECT_EQ(error("  s: send in[0] from 1 as 0"), "3:17: expected 'to' and the peer, found 'from'");
  EXPECT_EQ(error("  s: send in[0] to 1"),
            "4:1: expected 'as' and the number of the message, found 'end'");
  EXPECT_EQ(error("  s: send mem[0] to 1 as 0"),
            "3:11: expected a chunk: in[..], out[..], tmp[.. : ..], acc[.. : ..]; found 'mem'");
  EXPECT_EQ(error("  s: send tmp[0] to 1 as 0"),
            "3:16: expected ':' between slot and block, found ']'");
  EXPECT_EQ(error("  c: copy out[0] in[0]"),
            "3:18: expected '=' after the chunk that is written, found 'in'");
  EXPECT_EQ(error("  c: copy out[0] = in[0] after"),
            "4:1: 'end' is a word of the language and "
            "cannot name a step");
  EXPECT_EQ(error("  for in in 0 .. 1 end"),
            "3:7: 'in' is a word of the language and cannot name a loop variable");
  EXPECT_EQ(error("  for k in 0 1 end"),
            "3:14: expected '..' between the ends of the loop, found '1'");
  EXPECT_EQ(error("  c[*]: copy out[0] = in[0]"),
            "schedule x broadcast: step c[*]: only a dependency can name every step");
  EXPECT_EQ(Schedule::Parse("schedule x barrier blocks 0 begin for k in 0 .. 1").status().message(),
            "1:50: expected a step or the 'end' of 'for k'");
  EXPECT_EQ(error("end end"), "3:5: the text should end after the last 'end', found 'end'");
}

TEST(ParseTest, ErrorsOfMeaningNameTheStep) {
  const auto error = [](std::string_view body) { return ErrorOf("broadcast blocks 1", body); };
  const std::string context = "schedule x broadcast: ";
  EXPECT_EQ(error("c: copy out[k] = in[0]"),
            context + "step c: 'k' has no value here; defined are r, N, root");
  EXPECT_EQ(error("for k in 0 .. k end"),
            context + "for k: 'k' has no value here; defined are r, N, root");
  EXPECT_EQ(error("for k in 0 .. 1 let k = 2 end"), context + "'k' is defined twice");
  EXPECT_EQ(error("for k in 0 .. 1 let b = k end c: copy out[b] = in[0]"),
            context + "step c: 'b' has no value here; defined are r, N, root");
  EXPECT_EQ(error("s: send scaled in[0] to 1 as 0"),
            context + "step s: only an operand of reduce or copy can be scaled");
  EXPECT_EQ(error("c: copy out[0] = for k in 0 .. 0: in[k]"),
            context + "step c: a range of chunks can only be sent or received");
  EXPECT_EQ(error("s: send for r2 in 0 .. 0: in[k] to 1 as 0"),
            context + "step s: 'k' has no value here; defined are r, N, root, r2");
}

// What does not exist on a rank is not waited for; what exists on none is a slip of the pen.
TEST(ParseTest, AMisspeltDependencyIsAnError) {
  const auto error = [](std::string_view body) { return ErrorOf("broadcast blocks 1", body); };
  const std::string context = "schedule x broadcast: ";
  const std::string_view good = "s: send in[0] to 1 as 0 if r == 9 c: copy out[0] = in[0] after s";
  EXPECT_TRUE(
      Schedule::Parse(fmt::format("schedule x broadcast blocks 1 begin {} end", good)).ok());
  EXPECT_EQ(error("s: send in[0] to 1 as 0 c: copy out[0] = in[0] after S"),
            context + "step c: it comes after S, but no step has that name; there is c, s");
  EXPECT_EQ(error("s: send in[0] to 1 as 0 c: copy out[0] = in[0] after v[*]"),
            context + "step c: it comes after v, but no step has that name; there is c, s");
  EXPECT_EQ(error("for k in 0 .. 1 s[k]: send in[0] to 1 as k end c: copy out[0] = in[0] after s"),
            context + "step c: it comes after s with 0 indices; where s is listed it has 1");
}

TEST(ParseTest, NoTextDoesHarm) {
  const RandomStream random(7, "mangled text");
  int read = 0;
  for (std::uint64_t sample = 0; sample < 4000; ++sample) {
    std::string text(kFull);
    for (std::uint64_t i = 0; i <= random.Below(3, sample); ++i) {
      const std::size_t at = random.Below(text.size(), sample, 10 * i + 1);
      const std::size_t from = random.Below(text.size(), sample, 10 * i + 2);
      switch (random.Below(3, sample, 10 * i + 3)) {
        case 0:
          text.erase(at, 1 + random.Below(5, sample, 10 * i + 4));
          break;
        case 1:
          text.insert(at, text.substr(from, 1 + random.Below(5, sample, 10 * i + 4)));
          break;
        default:
          text[at] = text[from];
      }
    }
    const Result<Schedule> schedule = Schedule::Parse(text);
    if (!schedule.ok()) continue;
    ++read;
    const Result<Schedule> again = Schedule::Parse(schedule->ToString());
    ASSERT_TRUE(again.ok()) << again.status().ToString() << "\n" << schedule->ToString();
    ASSERT_EQ(*again, *schedule);
    // What could be read can be expanded, or the reason why not is said.
    const auto steps = schedule->ForRank(3, 1, 2);
    ASSERT_TRUE(steps.ok() || !steps.status().message().empty());
  }
  EXPECT_GT(read, 100);
}

TEST(ParseTest, DeepNestingIsRefused) {
  std::string text = "schedule x barrier blocks 0 begin ";
  for (int i = 0; i < 10'000; ++i) text += "for k" + std::to_string(i) + " in 0 .. 0 ";
  EXPECT_NE(Schedule::Parse(text).status().message().find("nested too deeply"), std::string::npos);
}

}  // namespace
}  // namespace chorus
