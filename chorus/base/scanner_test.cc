#include "chorus/base/scanner.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

TEST(Scanner, TakesTokensAndSkipsBlanks) {
  Scanner scanner("  X = 12, Yy");
  EXPECT_EQ(scanner.Peek(), 'X');
  EXPECT_EQ(scanner.TakeWhile(IsUpper), "X");
  EXPECT_TRUE(scanner.Accept("="));
  EXPECT_EQ(*scanner.TakeCount("the size"), 12);
  EXPECT_FALSE(scanner.Accept("]"));
  EXPECT_TRUE(scanner.Accept(","));
  EXPECT_FALSE(scanner.AtEnd());
  EXPECT_EQ(scanner.position(), 10U);
  EXPECT_EQ(scanner.TakeLine(), "Yy");
  EXPECT_TRUE(scanner.AtEnd());
}

TEST(Scanner, PointsAtTheCharacter) {
  Scanner scanner("A[I+J]");
  EXPECT_EQ(scanner.ErrorAt(3, "no").message(), "no\n  A[I+J]\n     ^");
  EXPECT_EQ(scanner.ErrorAt(6, "end").message(), "end\n  A[I+J]\n        ^");
}

TEST(Scanner, NamesTheLineOfSeveral) {
  Scanner scanner("one\ntwo three\nfour");
  EXPECT_EQ(scanner.ErrorAt(8, "bad").message(), "line 2: bad\n  two three\n      ^");
  EXPECT_EQ(scanner.ErrorAt(0, "bad").message(), "line 1: bad\n  one\n  ^");
}

TEST(Scanner, CountsFit64Bits) {
  EXPECT_EQ(*Scanner("9223372036854775807").TakeCount("n"), 9223372036854775807);
  EXPECT_EQ(Scanner("9223372036854775808").TakeCount("n").status().message(),
            "n is larger than 2^63-1\n  9223372036854775808\n  ^");
  EXPECT_EQ(Scanner("-1").TakeCount("the size of axis X").status().message(),
            "the size of axis X must be a whole number, like 4\n  -1\n  ^");
}

TEST(ScannerTest, APlaceIsReadBackFromAnError) {
  const Scanner scanner("A[I_X, J_X]");
  for (const std::size_t at : {0, 9, 11}) {
    const std::optional<ErrorPlace> place =
        PlaceOf(scanner.ErrorAt(at, "axis X is used twice").WithContext("--spec"));
    ASSERT_TRUE(place.has_value());
    EXPECT_EQ(place->message, "--spec: axis X is used twice");
    EXPECT_EQ(place->line, "A[I_X, J_X]");
    EXPECT_EQ(place->column, at);
  }
  EXPECT_FALSE(PlaceOf(InvalidArgument("no place")).has_value());
  EXPECT_FALSE(PlaceOf(InvalidArgument("two\n  lines")).has_value());
  EXPECT_FALSE(PlaceOf(InvalidArgument("\n  \n  x^")).has_value());
  EXPECT_FALSE(PlaceOf(OkStatus()).has_value());
}

}  // namespace
}  // namespace chorus
