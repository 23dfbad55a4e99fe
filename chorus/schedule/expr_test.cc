#include "chorus/schedule/expr.h"

#include <gtest/gtest.h>

#include "chorus/base/random.h"

namespace chorus {
namespace {

Bindings SomeBindings() {
  Bindings b;
  b.Push("N", 5);
  b.Push("r", 1);
  b.Push("root", 4);
  b.Push("k", 3);
  return b;
}

std::int64_t Value(std::string_view text) {
  const Result<Expr> e = Expr::Parse(text);
  EXPECT_TRUE(e.ok()) << e.status().ToString();
  const Result<std::int64_t> value = e->Evaluate(SomeBindings());
  EXPECT_TRUE(value.ok()) << value.status().ToString();
  return value.ok() ? *value : -999;
}

std::string EvaluationError(std::string_view text) {
  return Expr::Parse(text)->Evaluate(SomeBindings()).status().message();
}

TEST(ExprTest, RemainderAndQuotientRoundDown) {
  EXPECT_EQ(Value("(r - k) % N"), 3);
  EXPECT_EQ(Value("(r - k) / N"), -1);
  EXPECT_EQ(Value("(k - r) % N"), 2);
  EXPECT_EQ(Value("-7 % 7"), 0);
  EXPECT_EQ(Value("7 / -2"), -4);
}

TEST(ExprTest, PrecedenceIsThatOfC) {
  EXPECT_EQ(Value("1 + 2 * 3"), 7);
  EXPECT_EQ(Value("10 - 3 - 2"), 5);
  EXPECT_EQ(Value("1 << k + 1"), 16);
  EXPECT_EQ(Value("r == 1 && k < 2 || N == 5"), 1);
  EXPECT_EQ(Value("6 & 3 == 3"), 0);  // 6 & (3 == 3)
  EXPECT_EQ(Value("5 ^ 1 | 8"), 12);
  EXPECT_EQ(Value("k > 2 ? r > 2 ? 10 : 20 : 30"), 20);
  EXPECT_EQ(Value("!r + -k"), -3);
}

TEST(ExprTest, Functions) {
  EXPECT_EQ(Value("min(r, k) + max(r, k)"), 4);
  EXPECT_EQ(Value("ceil_log2(N)"), 3);
  EXPECT_EQ(Value("floor_log2(N)"), 2);
  EXPECT_EQ(Value("ceil_log2(1) + floor_log2(1)"), 0);
  EXPECT_EQ(Value("ceil_log2(8) * 10 + floor_log2(8)"), 33);
  EXPECT_EQ(Value("power(3, 4) + power(7, 0) + power(-1, 1 << 40)"), 83);
  EXPECT_EQ(Value("ceil_log(3, 9) * 100 + ceil_log(3, 10) * 10 + ceil_log(4, 1)"), 230);
  for (std::int64_t base = 2; base <= 5; ++base) {
    for (std::int64_t x = 1; x <= 130; ++x) {
      std::int64_t k = 0;
      for (std::int64_t reach = 1; reach < x; reach *= base) ++k;
      EXPECT_EQ(CeilLog(Expr(base), x).Evaluate(Bindings()).value(), k) << base << " " << x;
    }
  }
  EXPECT_EQ(Expr::Parse("power(2, -1)")->Evaluate(Bindings()).status().message(),
            "power(2, -1) has the exponent -1; it must not be negative");
  EXPECT_EQ(Expr::Parse("ceil_log(1, 9)")->Evaluate(Bindings()).status().message(),
            "ceil_log(1, 9) takes the logarithm of 9 to the base 1; they must be at least 1 and 2");
  EXPECT_EQ(Expr::Parse("power(10, 19)")->Evaluate(Bindings()).status().message().substr(0, 31),
            "power(10, 19) does not fit into");
}

TEST(ExprTest, WhatIsNotNeededIsNotEvaluated) {
  EXPECT_EQ(Value("0 && 1 / 0"), 0);
  EXPECT_EQ(Value("1 || 1 / 0"), 1);
  EXPECT_EQ(Value("1 ? 2 : 1 / 0"), 2);
}

TEST(ExprTest, AValueThatDoesNotExistIsAnError) {
  EXPECT_EQ(EvaluationError("k / (r - 1)"), "k / (r - 1) divides 3 by zero");
  EXPECT_EQ(EvaluationError("k % 0"), "k % 0 divides 3 by zero");
  EXPECT_EQ(EvaluationError("r << 63"), "r << 63 shifts by 63; a shift is from 0 to 62");
  EXPECT_EQ(EvaluationError("r >> -1"), "r >> -1 shifts by -1; a shift is from 0 to 62");
  EXPECT_EQ(EvaluationError("q + 1"), "'q' has no value here");
  EXPECT_EQ(EvaluationError("ceil_log2(0)"),
            "ceil_log2(0) takes the logarithm of 0; it must be at least 1");
  EXPECT_EQ(EvaluationError("9223372036854775807 + 1"),
            "9223372036854775807 + 1 does not fit into 64 bits (operands 9223372036854775807 and "
            "1)");
  for (const char* text : {"-9223372036854775808 / -1", "-(-9223372036854775808)",
                           "4611686018427387904 << 1", "9223372036854775807 * 2"}) {
    EXPECT_NE(EvaluationError(text).find("does not fit into 64 bits"), std::string::npos) << text;
  }
  EXPECT_EQ(Value("-9223372036854775808 % -1"), 0);
}

TEST(ExprTest, PrintsNoParenthesesThatPrecedenceMakesSuperfluous) {
  for (const char* text :
       {"(r - k) % N", "r - k % N", "r - (k - 1)", "r - k - 1", "-(r + k)", "-3 + r",
        "(r > k ? 1 : 2) + 1", "r > k ? 1 : 2", "(r ? k : 1) ? 2 : 3", "r ? k : 1 ? 2 : 3",
        "1 << (k + 1)", "(mine >> 1) << (k + 1)", "r == k && r != 0 || !(r < k)", "min(r + 1, k)",
        "!r", "-(-1)", "mine ^ 1", "(r & 1) == 0", "ceil_log2(N) - 1"}) {
    EXPECT_EQ(Expr::Parse(text)->ToString(), text);
  }
  EXPECT_EQ(Expr::Parse("((r)) - (k * (2))")->ToString(), "r - k * 2");
}

TEST(ExprTest, OperatorsBuildWhatTheParserReads) {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), k = Expr::Variable("k");
  EXPECT_EQ((r - k) % n, *Expr::Parse("(r - k) % N"));
  EXPECT_EQ(And(Lt(r, n - 1), Not(Eq(k, 0))), *Expr::Parse("r < N - 1 && !(k == 0)"));
  EXPECT_EQ(Select(Ge(r, k), r, Max(k, 2)), *Expr::Parse("r >= k ? r : max(k, 2)"));
  EXPECT_FALSE(r + 1 == 1 + r);  // the same value is not the same formula
}

TEST(ExprTest, ParseErrorsPointAtTheColumn) {
  const auto error = [](std::string_view text) { return Expr::Parse(text).status().message(); };
  EXPECT_EQ(error("r +"), "1:4: expected a number, a variable or '(', found the end of the text");
  EXPECT_EQ(error("(r - k % N"),
            "1:11: expected ')' to close the parenthesis, found the end of "
            "the text");
  EXPECT_EQ(error("r r"), "1:3: the formula should end here, found 'r'");
  EXPECT_EQ(error("min(r)"), "1:6: expected ',' between the operands of min, found ')'");
  EXPECT_EQ(error("r ? 1"),
            "1:6: expected ':' between the two values of '?', found the end of the text");
  EXPECT_EQ(error("send + 1"), "1:1: expected a number, a variable or '(', found 'send'");
  EXPECT_EQ(error("9223372036854775808"), "1:1: 9223372036854775808 does not fit into 64 bits");
  EXPECT_EQ(error("1 +\n  $"), "2:3: expected a number, a variable or '(', found '$'");
}

TEST(ExprTest, DeepTextIsRefusedAndDoesNotExhaustTheStack) {
  const std::string deep(100'000, '(');
  EXPECT_NE(Expr::Parse(deep).status().message().find("nested too deeply"), std::string::npos);
  EXPECT_FALSE(Expr::Parse(std::string(100'000, '-') + "1").ok());
  // A sum nests too: ((1 + 1) + 1) + ...
  std::string sum = "1";
  for (int i = 0; i < 900; ++i) sum += " + 1";
  EXPECT_EQ(Expr::Parse(sum)->depth(), 901);
  for (int i = 0; i < 200'000; ++i) sum += " + 1";
  EXPECT_NE(Expr::Parse(sum).status().message().find("nested too deeply"), std::string::npos);
}

// A random formula of at most `depth` levels.
class RandomFormula {
 public:
  explicit RandomFormula(std::uint64_t seed) : random_(seed, "formula") {}

  Expr Make(int depth) {
    if (depth == 0 || Below(4) == 0) {
      constexpr const char* kNames[] = {"r", "N", "root", "k"};
      if (Below(2) == 0) return Expr(static_cast<std::int64_t>(Below(7)) - 3);
      return Expr::Variable(kNames[Below(4)]);
    }
    const auto kind =
        static_cast<Expr::Kind>(2 + Below(static_cast<std::uint64_t>(Expr::Kind::kCeilLog) - 1));
    std::vector<Expr> operands;
    for (int i = 0; i < Arity(kind); ++i) operands.push_back(Make(depth - 1));
    return Expr::Make(kind, std::move(operands));
  }

 private:
  static int Arity(Expr::Kind kind) {
    switch (kind) {
      case Expr::Kind::kNegate:
      case Expr::Kind::kNot:
      case Expr::Kind::kCeilLog2:
      case Expr::Kind::kFloorLog2:
        return 1;
      case Expr::Kind::kSelect:
        return 3;
      default:
        return 2;
    }
  }
  std::uint64_t Below(std::uint64_t n) { return random_.Below(n, count_++); }

  RandomStream random_;
  std::uint64_t count_ = 0;
};

TEST(ExprTest, ParseIsTheInverseOfToString) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Expr e = RandomFormula(seed).Make(5);
    const Result<Expr> again = Expr::Parse(e.ToString());
    ASSERT_TRUE(again.ok()) << e.ToString() << ": " << again.status().ToString();
    ASSERT_EQ(*again, e) << e.ToString() << " became " << again->ToString();
    ASSERT_EQ(e.Evaluate(SomeBindings()).ok(), again->Evaluate(SomeBindings()).ok());
  }
}

}  // namespace
}  // namespace chorus
