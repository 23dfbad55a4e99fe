#include "chorus/strategy/strategy.h"

#include <gtest/gtest.h>

#include "chorus/model/mlp.h"

namespace chorus {
namespace {

TEST(Strategy, TablesAsText) {
  EXPECT_EQ(
      ToString(MlpTable("X", ParameterSharding::kEverything, "Y")),
      "embed: rest [W_X, V, D_Y] use [W, V, D_Y] gradient [W_X, V, D_Y] optimizer [W_X, V, D_Y] "
      "free\n"
      "blocks.*.win: rest [D_X, F_Y] use [D, F_Y] gradient [D_X, F_Y] optimizer [D_X, F_Y] free\n"
      "blocks.*.wout: rest [F_YX, D] use [F_Y, D] gradient [F_YX, D] optimizer [F_YX, D] free\n"
      "head: rest [D_YX, V] use [D_Y, V] gradient [D_YX, V] optimizer [D_YX, V] free\n"
      "tokens: [B_X, W]\n"
      "targets: [B_X]\n"
      "x.*: [B_X, D]\n"
      "logits: [B_X, V]\n");
  for (const std::string& name : StrategyNames()) {
    const Mesh mesh = *Mesh::Parse(name.find('+') == std::string::npos ? "X=2" : "Dp=2,Tp=3");
    const ShardingTable table = *MakeStrategy(name, mesh);
    EXPECT_EQ(*ParseTable(ToString(table)), table) << name;
    const LanguageModel model = *MlpLanguageModel({3, 5, 4, 6, 2});
    EXPECT_TRUE(CheckTable(table, model.graph, mesh).ok()) << name;
  }
}

TEST(Strategy, ColumnsLeftOutFollow) {
  const ParameterRow row = *ParseParameterRow({"w", "[D, F]", "", "", "[D_X, F]", ""});
  EXPECT_EQ(row.use.ToString(), "[D, F]");
  EXPECT_EQ(row.gradient.ToString(), "[D_X, F]");
  EXPECT_FALSE(row.keep);
  EXPECT_EQ(ParseTable("\nw: rest [D_X, F] use [D, F] keep\n\nt: [B_X]\n")->parameters[0],
            (ParameterRow{"w", *Spec::Parse("[D_X, F]"), *Spec::Parse("[D, F]"),
                          *Spec::Parse("[D_X, F]"), *Spec::Parse("[D_X, F]"), true}));
}

TEST(Strategy, SaysWhatIsWrong) {
  const Mesh line = *Mesh::Parse("X=4");
  EXPECT_EQ(MakeStrategy("pipeline", line).status().message(),
            "there is no strategy 'pipeline'; known are data, zero1, fsdp, tensor, data+tensor, "
            "fsdp+tensor");
  EXPECT_EQ(MakeStrategy("data+tensor", line).status().message(),
            "strategy 'data+tensor' needs a mesh of two axes, like X=2,Y=2, but the mesh is 'X=4'");
  EXPECT_EQ(ParseParameterRow({"w", "[D_X, F_X]", "", "", "", ""}).status().message(),
            "row 'w', rest: axis X is used twice: on dimension D (character 4) and on dimension F "
            "(character 9); an axis can be used once, so write [D_X, F] or [D, F_X]\n"
            "  [D_X, F_X]\n          ^");
  EXPECT_EQ(ParseParameterRow({"w", "", "[D, F]", "", "", ""}).status().message(),
            "row 'w' does not say how the parameter lies at rest; write rest = \"[D_X, F]\"");
  EXPECT_EQ(ParseParameterRow({"w", "[D]", "", "", "", "later"}).status().message(),
            "row 'w': policy 'later' is neither free nor keep");
  EXPECT_EQ(ParseParameterRow({"w", "W[D]", "", "", "", ""}).status().message(),
            "row 'w', rest: write [D] without the name W");
  EXPECT_EQ(ParseValueRow("a b", "[D]").status().message(),
            "a row is named by a pattern of letters, digits, '.', '_' and '*', like blocks.*.win\n"
            "  a b\n    ^");
  EXPECT_EQ(ParseTable("w: rest [D] always\n").status().message(),
            "a row has the columns rest, use, gradient, optimizer, and free or keep\n"
            "  w: rest [D] always\n              ^");
}

TEST(Table, IsCheckedAgainstTheGraph) {
  const LanguageModel model = *MlpLanguageModel({3, 5, 4, 6, 1});
  const Mesh mesh = *Mesh::Parse("X=2");
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string text = ToString(MlpTable("X", ParameterSharding::kNone, ""));
    text.replace(text.find(from), from.size(), to);
    const Result<ShardingTable> table = ParseTable(text);
    return table.ok() ? CheckTable(*table, model.graph, mesh).message() : table.status().message();
  };
  EXPECT_EQ(error("head:", "foot:"),
            "parameter head[D, V] has no row in the strategy's table; add one of pattern 'head' "
            "with rest [D, V]");
  EXPECT_EQ(error("targets:", "target:"),
            "input targets[B] has no row in the strategy's table; add one of pattern 'targets' "
            "with spec [B]");
  EXPECT_EQ(error("x.*:", "z.*:"),
            "row 'z.*' matches no value; there are tokens, targets, x.0, blocks.0.h, blocks.0.a, "
            "blocks.0.y, x.1, logits, loss");
  EXPECT_EQ(error("rest [D, V]", "rest [V, D]"),
            "row 'head' at rest says [V, D], but head has dimensions [D, V]");
  EXPECT_EQ(error("logits: [B_X, V]", "logits: [B_X, V]{U_Z}"),
            "row 'logits' says [B_X, V]{U_Z}, but rows hold no sums: leave {U_Z} out");
  EXPECT_EQ(error("tokens: [B_X, W]", "tokens: [B_Z, W]"),
            "row 'tokens': [B_Z, W] uses axis Z on dimension B, but the mesh has only "
            "X=2, so write [B_X, W], or give the mesh the axis: X=2,Z=2");
}

TEST(Table, Patterns) {
  EXPECT_TRUE(MatchesPattern("blocks.*.win", "blocks.17.win"));
  EXPECT_FALSE(MatchesPattern("blocks.*.win", "blocks.17.wout"));
  EXPECT_FALSE(MatchesPattern("blocks.*.win", "blocks..wi"));
  EXPECT_TRUE(MatchesPattern("*", ""));
  EXPECT_TRUE(MatchesPattern("*a*", "banana"));
  EXPECT_FALSE(MatchesPattern("a", "ab"));
}

}  // namespace
}  // namespace chorus
