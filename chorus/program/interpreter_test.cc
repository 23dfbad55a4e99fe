#include "chorus/program/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace chorus {
namespace {

using testing::ElementsAre;

PlainArray Counting(const Shape& shape, double first = 0) {
  PlainArray array = Filled(shape, 0);
  std::iota(array.elements.begin(), array.elements.end(), first);
  return array;
}

// Runs operations on one bound value a, giving output y.
Result<PlainArray> RunY(const std::string& bound, const std::string& ops, const char* mesh,
                        const DimSizes& sizes, const std::map<std::string, PlainArray>& arrays) {
  CHORUS_ASSIGN_OR_RETURN(
      const StepProgram program,
      StepProgram::Parse("bound\n" + bound + "operations\n" + ops + "outputs y\n"));
  CHORUS_ASSIGN_OR_RETURN(auto results,
                          Interpret(program, *Mesh::Parse(mesh), sizes, arrays, AdamWSettings()));
  return results.at("y");
}

// S02: uneven rows, some ranks with none; the whole array comes back with its own shape.
TEST(Interpreter, GathersUnevenRowsWithoutPadding) {
  for (const std::int64_t rows : {1, 5, 7}) {
    for (const char* mesh : {"X=2", "X=3", "X=4", "X=5"}) {
      const PlainArray a = Counting(Shape({rows, 10}));
      const Result<PlainArray> y =
          RunY("  a[I_X, J]: f32 input\n", "  y[I, J]: f32 activation = all_gather(a, I_X)\n", mesh,
               {{"I", rows}, {"J", 10}}, {{"a", a}});
      ASSERT_TRUE(y.ok()) << y.status().message();
      EXPECT_EQ(*y, a) << rows << " rows on " << mesh;
    }
  }
}

// Every slice, gather and scatter of a two-dimensional array over one and two axes, uneven.
TEST(Interpreter, MovesKeepTheWholeArray) {
  const PlainArray a = Counting(Shape({5, 7}));
  const DimSizes sizes = {{"I", 5}, {"J", 7}};
  const struct {
    const char* from;
    const char* ops;
  } kMoves[] = {
      {"a[I, J]", "  y[I, J_XY]: f32 activation = slice(a, J_XY)\n"},
      {"a[I_X, J]", "  y[I_X, J_Y]: f32 activation = slice(a, J_Y)\n"},
      {"a[I_XY, J]", "  y[I_X, J]: f32 activation = all_gather(a, I_Y)\n"},
      {"a[I_YX, J]", "  y[I_Y, J]: f32 activation = all_gather(a, I_X)\n"},
      {"a[I, J_YX]", "  y[I, J]: f32 activation = all_gather(a, J_YX)\n"},
  };
  for (const char* mesh : {"X=2,Y=2", "X=2,Y=3", "X=3,Y=1"}) {
    for (const auto& move : kMoves) {
      const Result<PlainArray> y =
          RunY(std::string("  ") + move.from + ": f32 input\n", move.ops, mesh, sizes, {{"a", a}});
      ASSERT_TRUE(y.ok()) << y.status().message();
      EXPECT_EQ(*y, a) << move.from << move.ops << mesh;
    }
  }
}

// S12: 6 ranks as 2x3, rank r holds r; over X the pairs (0,3), (1,4), (2,5) add to 3, 5, 7.
TEST(Interpreter, ReducesInStridedSubgroups) {
  // dot(a_r, 1) with R split over all ranks leaves rank r with r, a sum over X and Y.
  const Result<PlainArray> y =
      RunY("  a[K_Y, R_X]: f32 input\n  one[R_X]: f32 input\n",
           "  p[K_Y]{U_X}: f32 activation = contract(a, one)\n"
           "  y[K_Y]: f32 activation = all_reduce(p, X) into p\n",
           "X=2,Y=3", {{"K", 3}, {"R", 2}},
           {{"a", {Shape({3, 2}), {0, 3, 1, 4, 2, 5}}}, {"one", {Shape({2}), {1, 1}}}});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_THAT(y->elements, ElementsAre(3, 5, 7));
}

// S08: both contracting dimensions split: partials [[3,4],[19,28]] + [[31,36],[79,92]].
TEST(Interpreter, PartialProductsAddUp) {
  const std::string bound = "  a[I, J_X]: f32 input\n  b[J_X, K]: f32 input\n";
  const std::map<std::string, PlainArray> arrays = {
      {"a", {Shape({2, 4}), {1, 0, 2, 3, 5, 2, 6, 7}}},
      {"b", {Shape({4, 2}), {3, 4, 2, 4, 5, 6, 7, 8}}}};
  const std::string product = "  p[I, K]{U_X}: f32 activation = contract(a, b)\n";
  const DimSizes sizes = {{"I", 2}, {"J", 4}, {"K", 2}};
  const Result<PlainArray> reduced =
      RunY(bound, product + "  y[I, K]: f32 activation = all_reduce(p, X) into p\n", "X=2", sizes,
           arrays);
  ASSERT_TRUE(reduced.ok()) << reduced.status().message();
  EXPECT_THAT(reduced->elements, ElementsAre(34, 40, 98, 120));
  const Result<PlainArray> scattered =
      RunY(bound, product + "  y[I, K_X]: f32 activation = reduce_scatter(p, K_X)\n  free(p)\n",
           "X=2", sizes, arrays);
  ASSERT_TRUE(scattered.ok()) << scattered.status().message();
  EXPECT_EQ(*scattered, *reduced);
}

TEST(Interpreter, EmbedsWindowsWithAnySplitOfTheTable) {
  // tokens (2, 2), table (2, 3, 1): x[b] = table[0, t0] + table[1, t1]
  const std::map<std::string, PlainArray> arrays = {
      {"t", {Shape({2, 2}), {0, 2, 1, 1}}}, {"e", {Shape({2, 3, 1}), {1, 2, 4, 8, 16, 32}}}};
  const DimSizes sizes = {{"B", 2}, {"W", 2}, {"V", 3}, {"D", 1}};
  const struct {
    const char* tokens;
    const char* table;
    const char* x;
  } kSplits[] = {{"[B, W]", "[W, V, D]", "[B, D]"},
                 {"[B_X, W]", "[W, V, D]", "[B_X, D]"},
                 {"[B, W]", "[W, V_X, D]", "[B, D]{U_X}"},
                 {"[B, W_X]", "[W_X, V, D]", "[B, D]{U_X}"},
                 {"[B, W]", "[W, V, D_X]", "[B, D_X]"}};
  for (const auto& split : kSplits) {
    const Result<PlainArray> y = RunY(
        std::string("  t") + split.tokens + ": i32 input\n  e" + split.table + ": f32 parameter\n",
        std::string("  y") + split.x + ": f32 activation = embed_window(t, e)\n", "X=2", sizes,
        arrays);
    ASSERT_TRUE(y.ok()) << y.status().message();
    EXPECT_THAT(y->elements, ElementsAre(1 + 32, 2 + 16)) << split.x;
  }
}

TEST(Interpreter, MeanOverTheGlobalBatch) {  // 3 rows over 2 ranks: 2 and 1
  const Result<PlainArray> y = RunY(
      "  l[B_X, V]: f32 input\n  t[B_X]: i32 input\n",
      "  y[]{U_X}: f32 activation = cross_entropy(l, t)\n", "X=2", {{"B", 3}, {"V", 2}},
      {{"l", {Shape({3, 2}), {0, 0, 0, 0, 0, std::log(3.0)}}}, {"t", {Shape({3}), {0, 1, 1}}}});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_NEAR(y->elements[0], (2 * std::log(2.0) - std::log(0.75)) / 3, 1e-15);
}

TEST(Interpreter, GeluSlopeIsTheDerivative) {
  for (double x = -4; x <= 4; x += 0.37) {
    const double h = 1e-6;
    EXPECT_NEAR(GeluSlope(x), (Gelu(x + h) - Gelu(x - h)) / (2 * h), 1e-9) << x;
  }
}

TEST(Interpreter, AdamWUpdatesInPlaceAndWritesBack) {
  const StepProgram program = *StepProgram::Parse(
      "bound\n  g[D]: f64 input\n  w[D]: f64 parameter\n  m[D_X]: f64 optimizer_state\n"
      "  v[D_X]: f64 optimizer_state\noperations\n"
      "  g.own[D_X]: f64 gradient = slice(g, D_X)\n"
      "  w.own[D_X]: f64 workspace = slice(w, D_X)\n"
      "  adamw(w.own, m, v, g.own)\n  free(g.own)\n"
      "  w.new[D]: f64 parameter = all_gather(w.own, D_X) into w\n  free(w.own)\noutputs\n");
  AdamWSettings settings;
  settings.learning_rate = 0.1;
  settings.weight_decay = 0.5;
  settings.epsilon = 0;
  const PlainArray zero = Filled(Shape({3}), 0);
  const auto after = Interpret(
      program, *Mesh::Parse("X=2"), {{"D", 3}},
      {{"g", {Shape({3}), {2, -3, 4}}}, {"w", {Shape({3}), {1, 2, 3}}}, {"m", zero}, {"v", zero}},
      settings);
  ASSERT_TRUE(after.ok()) << after.status().message();
  // The first step moves each weight by the learning rate against its gradient, after decay.
  const PlainArray& w = after->at("w");
  EXPECT_NEAR(w.elements[0], 1 - 0.1 * (1 + 0.5), 1e-15);
  EXPECT_NEAR(w.elements[1], 2 - 0.1 * (-1 + 1.0), 1e-15);
  EXPECT_NEAR(w.elements[2], 3 - 0.1 * (1 + 1.5), 1e-15);
  EXPECT_NEAR(after->at("m").elements[2], 0.4, 1e-15);
  EXPECT_NEAR(after->at("v").elements[1], 0.01 * 9, 1e-15);
}

TEST(Interpreter, SaysWhatIsWrong) {
  const std::string bound = "  t[B, W]: i32 input\n  e[W, V, D]: f32 parameter\n";
  const std::string ops = "  y[B, D]: f32 activation = embed_window(t, e)\n";
  const DimSizes sizes = {{"B", 1}, {"W", 1}, {"V", 3}, {"D", 1}};
  const PlainArray table = Counting(Shape({1, 3, 1}));
  EXPECT_EQ(
      RunY(bound, ops, "", sizes, {{"t", {Shape({1, 1}), {3}}}, {"e", table}}).status().message(),
      "y[B, D]: f32 activation = embed_window(t, e): index 3 is outside dimension V of size 3");
  EXPECT_EQ(RunY(bound, ops, "", sizes, {{"e", table}}).status().message(),
            "no array was given for the bound value t");
  EXPECT_EQ(RunY(bound, ops, "", sizes, {{"t", Counting(Shape({2, 1}))}, {"e", table}})
                .status()
                .message(),
            "t[B, W] has shape [1, 1], but [2, 1] was given");
}

}  // namespace
}  // namespace chorus
