#include "chorus/shard/spelling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "chorus/base/random.h"
#include "chorus/base/scanner.h"
#include "chorus/mesh/notation.h"
#include "chorus/mesh/spelling.h"
#include "chorus/shard/product.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;

std::string ProductError(const std::string& text) {
  const Result<Product> product = ParseProduct(text);
  return product.ok() ? "" : product.status().message();
}

// The first of the spellings that a message shows; empty if it shows none.
std::string FirstSpelling(const std::string& message) {
  const std::string line = message.substr(0, message.find('\n'));
  constexpr std::string_view kWrite = " write ";
  const std::size_t write = line.rfind(kWrite);
  if (write == std::string::npos) return "";
  const std::string spellings = line.substr(write + kWrite.size());
  return spellings.substr(0, spellings.find(" or "));
}

// `text` with what its error says is to be written, put where it belongs: a whole product, a
// result, or the array that cannot be read. Empty if the error says nothing.
std::string FollowAdvice(const std::string& text) {
  const std::string spelling = FirstSpelling(ProductError(text));
  if (spelling.empty() || ParseProduct(spelling).ok()) return spelling;
  Scanner scanner(text);
  if (spelling.rfind("-> ", 0) == 0) {
    std::size_t end = 0;
    do {
      if (!ScanSpec(scanner).ok()) return "";
      end = scanner.position();
    } while (scanner.Accept("*") || scanner.Accept(".") || scanner.Accept("\u00b7"));
    return text.substr(0, end) + " " + spelling;
  }
  if (!Spec::Parse(spelling).ok()) return "";
  while (true) {
    while (scanner.Accept("*") || scanner.Accept(".") || scanner.Accept("->") ||
           scanner.Accept("\u00b7") || scanner.Accept("\u2192")) {
    }
    const std::size_t begin = scanner.position();
    if (ScanSpec(scanner).ok()) continue;
    return text.substr(0, begin) + spelling + text.substr(ReadLoosely(text, begin).end);
  }
}

// Whoever writes what the errors say comes to a legal product.
std::string FollowToTheEnd(std::string text) {
  for (int step = 0; step < 12 && !text.empty(); ++step) {
    if (ParseProduct(text).ok()) return text;
    text = FollowAdvice(text);
  }
  return "";
}

TEST(ProductSpelling, TakesTheSignsOfPapers) {
  const std::string plain = "A[I_X, J] * B[J, K] * D[K, L] -> E[I_X, L]";
  const Product product = *ParseProduct(plain);
  for (const char* const times : {"*", ".", "\u00b7", "\u00d7", "\u22c5", "\u2217", "\uff0a"}) {
    for (const char* const arrow : {"->", "\u2192", "\u27f6"}) {
      std::string text = plain;
      for (std::size_t at = text.find('*'); at != std::string::npos; at = text.find(" * ")) {
        text.replace(text.find('*'), 1, times);
        if (times[0] == '*') break;
      }
      text.replace(text.find("->"), 2, arrow);
      EXPECT_EQ(*ParseProduct(text), product) << text;
    }
  }
  EXPECT_EQ(ProductError("A[I, J] \u00b7 B[J_X, K_X] \u2192 C[I, K]"),
            "axis X is used twice: on dimension J (character 15) and on dimension K (character "
            "20); an axis can be used once, so write B[J_X, K] or B[J, K_X]\n"
            "  A[I, J] \u00b7 B[J_X, K_X] \u2192 C[I, K]\n                     ^");
}

// What people write and what they are shown: the sentence, and where it leads.
TEST(ProductSpelling, ShowsTheProductThatWasMeant) {
  const struct {
    const char* text;
    const char* says;
    const char* legal;
  } cases[] = {
      {"A[I, J] * A[J, K]", "two arrays are called A (characters 1 and 11)", "A[I, J] * B[J, K]"},
      {"A[I, J] * B[J, K] -> A[I, K]", "two arrays are called A", "A[I, J] * B[J, K] -> C[I, K]"},
      {"A[I, J] @ B[J, K]", "'*' is missing here", "A[I, J] * B[J, K]"},
      {"A[I, J] x B[J, K]", "'*' is missing here", "A[I, J] * B[J, K]"},
      {"A[I, J], B[J, K]", "'*' is missing here", "A[I, J] * B[J, K]"},
      {"A[I, J] B[J, K]", "'*' is missing here", "A[I, J] * B[J, K]"},
      {"A[I, J]B[J, K]", "'*' is missing here", "A[I, J] * B[J, K]"},
      {"(A[I, J] * B[J, K]) * D[K, L]", "the planner chooses the order",
       "A[I, J] * B[J, K] * D[K, L]"},
      {"A[I, J] * (B[J, K] * D[K, L])", "the planner chooses the order",
       "A[I, J] * B[J, K] * D[K, L]"},
      {"sum(A[I, J] * B[J, K])", "needs its dimensions in brackets", "A[I, J] * B[J, K]"},
      {"A[I, J] ** B[J, K]", "needs its dimensions in brackets", "A[I, J] * B[J, K]"},
      {"A[I, J] * * B[J, K]", "needs its dimensions in brackets", "A[I, J] * B[J, K]"},
      {"A[I, J] \\cdot B[J, K] \\to C[I, K]", "'*' is missing here",
       "A[I, J] * B[J, K] -> C[I, K]"},
      {"C[I, K] = A[I, J] * B[J, K]", "'*' is missing here", "A[I, J] * B[J, K] -> C[I, K]"},
      {"C[I, K] := A[I, J] * B[J, K]", "'*' is missing here", "A[I, J] * B[J, K] -> C[I, K]"},
      {"A[I, J] * B[J, K] = C[I, K]", "the product ends before this",
       "A[I, J] * B[J, K] -> C[I, K]"},
      {"A[I, J] * B[J, K] => C[I, K]", "the product ends before this",
       "A[I, J] * B[J, K] -> C[I, K]"},
      {"A[I, J] * B[J, K] --> C[I, K]", "the product ends before this",
       "A[I, J] * B[J, K] -> C[I, K]"},
      {"A[I, J] * B[J, K] > C[I, K]", "the product ends before this",
       "A[I, J] * B[J, K] -> C[I, K]"},
      {"A[I, J] * B[J, K] -> C", "needs its dimensions in brackets",
       "A[I, J] * B[J, K] -> C[I, K]"},
      {"A[I, J] * B[J, K] ->", "needs its dimensions in brackets", "A[I, J] * B[J, K]"},
      {"A[I, J] * B[J, K] -> C[I, K] extra", "the product ends before this",
       "A[I, J] * B[J, K] -> C[I, K]"},
      {"A[I, J] * B[J, K] -> C[I, K] -> D[I, K]", "the product ends before this",
       "A[I, J] * B[J, K] -> C[I, K]"},
      {"A[I, J] * B[J, K];", "the product ends before this", "A[I, J] * B[J, K]"},
      {"A[I, J]", "'*' is missing here", "A[I, J] * B[J, K]"},
      {"A[I, J] *", "needs its dimensions in brackets", "A[I, J] * B[J, K]"},
      {"A[]", "'*' is missing here", "A[] * B[K]"},
      {"A * B", "needs its dimensions in brackets", "A[I, J] * B[J, K]"},
      {"A * B -> C", "needs its dimensions in brackets", "A[I, J] * B[J, K] -> C[I, K]"},
      {"A(I, J) * B(J, K)", "needs its dimensions in brackets", "A[I, J] * B[J, K]"},
      {"A[I, J * B[J, K]", "separated by commas and closed by ']'", "A[I, J] * B[J, K]"},
      {"A[I, J] * B[J, K] -> C[I, K", "separated by commas and closed by ']'",
       "A[I, J] * B[J, K] -> C[I, K]"},
      {"A[I, J] * B[J, K] -> C[I, K]}", "the product ends before this",
       "A[I, J] * B[J, K] -> C[I, K]"},
      {"A[I_X, J] * B[J, K]{U_X,U_Y}", "partial axes are written together",
       "A[I_X, J] * B[J, K]{U_XY}"},
      {"A[I, J] * B[J, J]", "dimension J is given twice", "A[I, J] * B[J, J2]"},
      {"A[I_XY, J_XY] * B[J, K]", "axis X is used twice", "A[I_XY, J] * B[J, K]"},
      {"A[I_X, J_X, L_X] * B[J, K]", "axis X is used 3 times", "A[I_X, J, L] * B[J, K]"},
      {"A[I_X, J]{U_X} * B[J, K]", "among the partial axes {U} (character 13)",
       "A[I_X, J] * B[J, K]"},
      {"A[I, J] * B[J, K] -> C[I, L]", "dimension K is in B", "A[I, J] * B[J, K] -> C[I, K]"},
      {"A[I, J] * B[J, K] -> C[I]", "dimension K is in B", "A[I, J] * B[J, K] -> C[I, K]"},
      {"A[I, J] * B[L, K] -> C[I, K]", "dimension J is in A", "A[I, J] * B[L, K] -> C[I, K, J, L]"},
      {"A[I] * B[K] -> C[I, L]{U_X}", "dimension K is in B", "A[I] * B[K] -> C[I, K]"},
      {"A[I] * B[K] -> C[I, K]{U_X}", "cannot be a sum over X", "A[I] * B[K] -> C[I, K]"},
      {"A[I]{U_X} * B[K] -> C[I, K]{U_XY}", "C (character 21) cannot be a sum over Y",
       "A[I]{U_X} * B[K] -> C[I, K]{U_X}"},
      {"A[I] * B[K]{U_X} * D[L] -> E[I, K, L]{U_Y}", "cannot be a sum over Y",
       "A[I] * B[K]{U_X} * D[L] -> E[I, K, L]"},
      {"A[A] * B[A] * C[A] * D[A] * E[A] * F[A] * G[A]", "at most 6 operands",
       "A[A] * B[A] * C[A] * D[A] * E[A] * F[A]"},
      {"I,J * J,K", "needs its dimensions in brackets", "I[I, J] * J[J, K]"},
      {"A[I, J] * B[J, K]\nC[K]", "written on one line", "A[I, J] * B[J, K] * C[K]"},
      {"A[I, J]\n* B[J, K]", "written on one line", "A[I, J] * B[J, K]"},
      {"A[I, J] *\r\nB[J, K]", "written on one line", "A[I, J] * B[J, K]"},
      {"A[I, J] * B[J, K] ->\nC[I, K]", "written on one line", "A[I, J] * B[J, K] -> C[I, K]"},
      {"A[I, J]{U_X}{U_Y} * B[J, K]", "partial axes are written together",
       "A[I, J]{U_XY} * B[J, K]"},
      {"A[I_X\uff0cI] * B[I\uff0cK]", "dimension I is given twice", "A[I_X, I2] * B[I, K]"},
  };
  for (const auto& one : cases) {
    EXPECT_THAT(ProductError(one.text), HasSubstr(one.says)) << one.text;
    EXPECT_EQ(ParseProduct(FollowToTheEnd(one.text))->ToString(), one.legal)
        << one.text << "\n"
        << ProductError(one.text);
  }
  for (const char* const nothing : {"", " ", "*", "->", "?", "\u00b7"}) {
    EXPECT_THAT(ProductError(nothing), HasSubstr("A[I")) << nothing;
  }
}

// Legal products with characters lost, doubled, exchanged or put in: the advice is legal, and
// leads to a legal product.
TEST(ProductSpelling, AdviceLeadsToALegalProduct) {
  const std::vector<std::string> legal = {
      "A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]", "A[I, J_X] . B[J_X, K]{U_Y} -> C[I, K]{U_X}",
      "A[I_X, J] * B[J, K_Y] * D[K_Y, L]{U_Z} -> E[I_X, L]", "x[B_DpTp, D] \u00b7 w[D, F]"};
  const std::vector<std::string> alphabet = {
      "A", "I", "J",  "K", "U", "X", "Y",  "d", "x", "1", "[",      "]",
      "{", "}", "(",  ")", "_", ",", ";",  ".", ":", "*", "-",      ">",
      "=", " ", "\n", "/", "'", "@", "\\", "^", "?", "+", "\u2192", "\u00e9"};
  const RandomStream random(11, "damage");
  int refused = 0;
  for (std::uint64_t round = 0; round < 2'000; ++round) {
    std::uint64_t draw = 0;
    const auto below = [&](std::size_t n) {
      return static_cast<std::size_t>(random.Below(n, round, draw++));
    };
    std::string text = legal[below(legal.size())];
    for (std::size_t damage = 1 + below(4); damage > 0; --damage) {
      const std::size_t at = below(text.size());
      const std::size_t kind = below(4);
      const std::string& sign = alphabet[below(alphabet.size())];
      if (kind == 0) text.erase(at, 1 + below(3));
      if (kind == 1) text.insert(at, sign);
      if (kind == 2) text.replace(at, 1, sign);
      if (kind == 3) text.insert(at, text.substr(below(text.size()), 1 + below(9)));
      if (text.empty()) text = "A";
    }
    if (ParseProduct(text).ok()) continue;
    ++refused;
    ASSERT_TRUE(PlaceOf(ParseProduct(text).status()).has_value()) << text;
    ASSERT_NE(FollowToTheEnd(text), "") << text << "\n"
                                        << ProductError(text) << "\n"
                                        << FollowAdvice(text) << "\n"
                                        << ProductError(FollowAdvice(text));
  }
  EXPECT_GT(refused, 1'400);
}

}  // namespace
}  // namespace chorus
