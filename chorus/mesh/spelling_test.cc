#include "chorus/mesh/spelling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "chorus/base/random.h"
#include "chorus/base/scanner.h"
#include "chorus/mesh/notation.h"

namespace chorus {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string ErrorOf(const std::string& text) { return Spec::Parse(text).status().message(); }

// The spellings behind "so write" of a message; empty if it shows none.
std::vector<std::string> SpellingsShown(const std::string& message) {
  constexpr std::string_view kSo = ", so write ";
  const std::string line = message.substr(0, message.find('\n'));
  const std::size_t so = line.find(kSo);
  if (so == std::string::npos) return {};
  std::string rest = line.substr(so + kSo.size()) + " or ";
  std::vector<std::string> shown;
  for (std::size_t end = rest.find(" or "); end != std::string::npos; end = rest.find(" or ")) {
    shown.push_back(rest.substr(0, end));
    rest.erase(0, end + 4);
  }
  return shown;
}

TEST(SpellingTest, AnAxisUsedManyTimesIsShownAtEachOfItsPlaces) {
  EXPECT_EQ(ErrorOf("A[I_X, J_X, K_X]"),
            "axis X is used 3 times: on dimension I (character 5), on dimension J (character 10) "
            "and on dimension K (character 15); an axis can be used once, so write A[I_X, J, K] or "
            "A[I, J_X, K] or A[I, J, K_X]\n"
            "  A[I_X, J_X, K_X]\n           ^");
  EXPECT_THAT(SpellingsShown(ErrorOf("A[I_XY, J_XY]")), ElementsAre("A[I_XY, J]", "A[I, J_XY]"));
  EXPECT_THAT(SpellingsShown(ErrorOf("A[I_XY, J_YX]{U_X}")),
              ElementsAre("A[I_XY, J]", "A[I, J_YX]", "A[I_Y, J]{U_X}"));
  EXPECT_THAT(SpellingsShown(ErrorOf("A[I_XYX]")), ElementsAre("A[I_XY]", "A[I_YX]"));
}

// What people write, or paste from papers, and what is shown to them.
TEST(SpellingTest, ShowsWhatWasMeant) {
  const std::pair<const char*, const char*> meant[] = {
      {"A[I, I]", "A[I, I2]"},
      {"A[I_X, I_Y]", "A[I_X, I2_Y]"},
      {"A[I, I, I2, I]", "A[I, I2, I22, I3]"},
      {"A[I]{U_X,U_Y}", "A[I]{U_XY}"},
      {"A[I]{U_X, Y}", "A[I]{U_XY}"},
      {"A[I]{U_X U_Y}", "A[I]{U_XY}"},
      {"A[I]{X}", "A[I]{U_X}"},
      {"A[I]{u_x}", "A[I]{U_X}"},
      {"A[I]{U_X", "A[I]{U_X}"},
      {"A[I]{U}", "A[I]{U_U}"},
      {"A[I]{}", "A[I]"},
      {"A[I]{U_}", "A[I]"},
      {"A[I_X]{U_X,U_Y}", "A[I_X]{U_Y}"},
      {"A[I{U_X}", "A[I]{U_X}"},
      {"A(I, J)", "A[I, J]"},
      {"A(I_X, J]", "A[I_X, J]"},
      {"A I, J]", "A[I, J]"},
      {"A[I, J", "A[I, J]"},
      {"A[I; J]", "A[I, J]"},
      {"A[I J]", "A[I, J]"},
      {"A[I,, J]", "A[I, J]"},
      {"A[, I]", "A[I]"},
      {"A[I_{XY}, J]", "A[I_XY, J]"},
      {"A[I_{X,Y}, J]", "A[I_XY, J]"},
      {"A[I^X, J]", "A[I_X, J]"},
      {"A[I_X_Y, J]", "A[I_XY, J]"},
      {"A[I_x, J]", "A[I_X, J]"},
      {"A[I_tp, J_dp]", "A[I_Tp, J_Dp]"},
      {"A[I/X, J]", "A[I_X, J]"},
      {"A[I_, J]", "A[I, J]"},
      {"A[_X, J]", "A[J]"},
      {"A[I_1, J]", "A[I, J]"},
      {"A[I-X, J]", "A[I_X, J]"},
      {"A[I:X, J]", "A[I_X, J]"},
      {"A[I*X, J]", "A[I_X, J]"},
      {"A[I \u00d7 J]", "A[I, J]"},
      {"A[I]{U_X}{U_Y}", "A[I]{U_XY}"},
      {"A[I]{U_X\uff0cU_Y}", "A[I]{U_XY}"},
      {"A[I_{X\uff0cY}\uff0cJ]", "A[I_XY, J]"},
      {"A[I_X\uff0cJ", "A[I_X, J]"},
      {"A[I_X\u3001J", "A[I_X, J]"},
      {"A[I_X\uff0cI", "A[I_X, I2]"},
      {"A[I]{S_X}", "A[I]{U_X}"},
  };
  for (const auto& [text, legal] : meant) {
    EXPECT_THAT(SpellingsShown(ErrorOf(text)), ElementsAre(legal)) << text;
    EXPECT_TRUE(Spec::Parse(legal).ok()) << text;
  }
}

TEST(SpellingTest, TakesTheWideComma) {
  EXPECT_EQ(*Spec::Parse("A[I_X\uff0cJ\uff0c K]"), *Spec::Parse("A[I_X, J, K]"));
  EXPECT_EQ(*Spec::Parse("A[I_X\u3001J\uff0c K]"), *Spec::Parse("A[I_X, J, K]"));
  EXPECT_EQ(Mesh::Parse("X=2\uff0cY=3\u3001 Z=4")->ToString(), "X=2,Y=3,Z=4");
  EXPECT_EQ(*ParseDimSizes("I=2\uff0cJ=3\u3001 K=4"), *ParseDimSizes("I=2,J=3,K=4"));
}

TEST(SpellingTest, PointsAtCharactersOfSeveralBytes) {
  EXPECT_THAT(ErrorOf("A[I_X, \u00e9, J_X]"), EndsWith("\n  A[I_X, \u00e9, J_X]\n         ^"));
  const Scanner scanner("\u00e9\u2192 A");
  EXPECT_EQ(CharacterAt(scanner, 6), 4U);
  const auto place = PlaceOf(scanner.ErrorAt(6, "here"));
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->column, 6U);
}

// An axis that the mesh lacks: one that it has, the nearest by name, or the mesh that has it.
TEST(SpellingTest, ShowsAnAxisThatTheMeshHas) {
  const Mesh mesh = *Mesh::Parse("Dp=2,Tp=4,X=2");
  EXPECT_EQ(NearestOn(*Spec::Parse("A[I_Tpp, J_Dp]"), mesh).ToString(), "A[I_Tp, J_Dp]");
  EXPECT_EQ(NearestOn(*Spec::Parse("A[I_ZDp, J_Y]{U_Wx}"), mesh).ToString(), "A[I_TpDp, J_X]");
  EXPECT_THAT(Spec::Parse("A[I_Y, J_Dp]{U_Z}")->Check(mesh).message(),
              HasSubstr(", so write A[I_Tp, J_Dp]{U_X}, or give the mesh the axis: "
                        "Dp=2,Tp=4,X=2,Y=2,Z=2"));
}

// Legal specs with characters lost, doubled, exchanged or put in: whatever is shown is accepted.
TEST(SpellingTest, WhateverIsShownIsLegal) {
  const std::string alphabet = "AIJKUXYZdpx[]{}()_,;.:*->= \n/'1\\^";
  const RandomStream random(7, "damage");
  int shown = 0;
  for (std::uint64_t round = 0; round < 8'000; ++round) {
    std::string text = "A[I_X, J_YDp, K]{U_ZTp}";
    std::uint64_t draw = 0;
    const auto below = [&](std::size_t n) {
      return static_cast<std::size_t>(random.Below(n, round, draw++));
    };
    for (std::size_t damage = 1 + below(4); damage > 0; --damage) {
      const std::size_t at = below(text.size());
      const std::size_t kind = below(4);
      if (kind == 0) text.erase(at, 1 + below(3));
      if (kind == 1) text.insert(at, 1, alphabet[below(alphabet.size())]);
      if (kind == 2) text[at] = alphabet[below(alphabet.size())];
      if (kind == 3) text.insert(at, text.substr(below(text.size()), 1 + below(6)));
      if (text.empty()) text = "A";
    }
    const Result<Spec> spec = Spec::Parse(text);
    if (spec.ok()) continue;
    ASSERT_TRUE(PlaceOf(spec.status()).has_value()) << text;
    for (const std::string& spelling : SpellingsShown(spec.status().message())) {
      ++shown;
      ASSERT_TRUE(Spec::Parse(spelling).ok()) << text << " is to be written " << spelling;
    }
    for (const std::string& spelling : SpellingsOf(text)) {
      ASSERT_TRUE(Spec::Parse(spelling).ok()) << text << " is to be written " << spelling;
    }
  }
  EXPECT_GT(shown, 4'000);
}

}  // namespace
}  // namespace chorus
