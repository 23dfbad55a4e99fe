#include "chorus/cost/simulate/motion.h"

#include <gtest/gtest.h>

#include "chorus/base/random.h"

namespace chorus {
namespace {

Motion MotionOf(std::string_view text, std::int64_t n, std::int64_t first, std::int64_t shift) {
  const Result<Expr> e = Expr::Parse(text);
  EXPECT_TRUE(e.ok()) << e.status().ToString();
  return OrbitFormulas(n, 0, first, shift).Of(*e);
}

TEST(MotionTest, FormulasOfTheRankAreFormulasOfTheTurn) {
  using enum Motion::Kind;
  const auto of = [](std::string_view text) { return MotionOf(text, 32, 3, 8); };
  EXPECT_EQ(of("r"), (Motion{kLinear, 8, 3, 0, 0}));
  EXPECT_EQ(of("r / 8"), (Motion{kLinear, 1, 0, 0, 0}));
  EXPECT_EQ(of("r % 8"), (Motion{kLinear, 0, 3, 0, 0}));
  EXPECT_EQ(of("(r / 8 + 1) % 4"), (Motion{kCyclic, 1, 1, 4, 0}));
  EXPECT_EQ(of("(r / 8 + 1) % 4 * 8 + 2"), (Motion{kCyclic, 8, 8, 32, 2}));
  EXPECT_EQ(of("min((r / 8 + 1) * 8, N) - r / 8 * 8"), (Motion{kLinear, 0, 8, 0, 0}));
  EXPECT_EQ(of("(r / 8 + 1) % 4 + r / 8"), (Motion{kCongruent, 2, 1, 4, 0}));
  EXPECT_EQ(of("r == r / 8 * 8"), (Motion{kLinear, 0, 0, 0, 0}));
  EXPECT_EQ(of("r % 4 == 3 && r < N"), (Motion{kLinear, 0, 1, 0, 0}));
  EXPECT_EQ(of("r ^ 5"), (Motion{kLinear, 8, 6, 0, 0}));
  EXPECT_EQ(of("r == 3").kind, kUnknown);
  EXPECT_EQ(of("r ^ 8").kind, kUnknown);
  EXPECT_EQ(of("r * r").kind, kUnknown);
  EXPECT_EQ(of("r / 0").kind, kUnknown);
  EXPECT_EQ(of("1 << 70").kind, kUnknown);
}

// What a motion says of each q is what the formula gives for that rank.
class RandomFormula {
 public:
  RandomFormula(std::uint64_t seed, std::int64_t n) : stream_(seed, "motion"), n_(n) {}

  Expr Make(int depth) {
    if (depth == 0) {
      const std::int64_t leaf = Pick(4);
      return leaf < 2 ? Expr::Rank() : leaf == 2 ? Expr::GroupSize() : Expr(Pick(2 * n_) - n_ / 2);
    }
    const Expr a = Make(depth - 1);
    switch (Pick(13)) {
      case 0:
        return a + Make(depth - 1);
      case 1:
        return a - Make(depth - 1);
      case 2:
        return a * (Pick(6) - 1);
      case 3:
      case 4:
        return a / (Pick(8) + 1);
      case 5:
      case 6:
        return a % (Pick(8) + 1);
      case 7:
        return a % Expr::GroupSize();
      case 8:
        return Min(a, Make(depth - 1));
      case 9:
        return Max(a, Make(depth - 1));
      case 10:
        return Select(Lt(a, Make(depth - 1)), Make(depth - 1), a);
      case 11:
        return Select(And(Eq(a, Make(depth - 1)), Not(Ge(a, 2))), a, Make(depth - 1));
      default:
        return (a ^ Pick(8)) + (a & Pick(8));
    }
  }

 private:
  std::int64_t Pick(std::int64_t below) {
    return static_cast<std::int64_t>(stream_.Below(static_cast<std::uint64_t>(below), next_++));
  }
  RandomStream stream_;
  std::uint64_t next_ = 0;
  std::int64_t n_;
};

TEST(MotionTest, HoldsForEveryRankOfRandomFormulas) {
  int known[4] = {};
  for (std::uint64_t seed = 0; seed < 9000; ++seed) {
    const std::int64_t n = std::vector<std::int64_t>{8, 12, 16, 24, 30}[seed % 5];
    const std::int64_t shift = std::vector<std::int64_t>{1, 2, 4}[seed % 3];
    if (n % shift != 0) continue;
    const std::int64_t first = static_cast<std::int64_t>(seed) % shift;
    const Expr e = RandomFormula(seed, n).Make(1 + static_cast<int>(seed % 4));
    const OrbitFormulas formulas(n, 0, first, shift);
    const Motion motion = formulas.Of(e);
    ++known[static_cast<int>(motion.kind)];
    if (motion.kind == Motion::Kind::kUnknown) continue;
    const bool has_range = motion.kind != Motion::Kind::kCongruent;
    const OrbitFormulas::Span span = has_range ? formulas.Range(motion) : OrbitFormulas::Span{};
    for (std::int64_t q = 0; q < n / shift; ++q) {
      Bindings bindings;
      bindings.Push("N", n);
      bindings.Push("r", first + shift * q);
      const Result<std::int64_t> value = e.Evaluate(bindings);
      if (!value.ok()) continue;  // divides by zero for this rank
      const std::int64_t line = motion.a * q + motion.b;
      if (motion.kind == Motion::Kind::kLinear) {
        ASSERT_EQ(*value, line) << e.ToString() << ", N = " << n << ", q = " << q;
      } else if (motion.kind == Motion::Kind::kCyclic) {
        ASSERT_EQ(*value, line % motion.modulus + motion.offset) << e.ToString() << ", N = " << n;
      } else {
        ASSERT_EQ((*value - line) % motion.modulus, 0) << e.ToString() << ", N = " << n;
      }
      if (!has_range) continue;
      ASSERT_GE(*value, span.low) << e.ToString();
      ASSERT_LE(*value, span.high) << e.ToString();
      ASSERT_EQ((*value - span.low) % span.grid, 0) << e.ToString();
    }
  }
  for (int count : known) EXPECT_GT(count, 50);
}

}  // namespace
}  // namespace chorus
