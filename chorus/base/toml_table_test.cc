#include "chorus/base/toml_table.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

// What reading `text` by `read` says.
template <typename Read>
std::string SaidOf(const char* text, Read read) {
  const toml::table document = *ParseTomlText(text, "a.toml");
  TomlTable section = TomlTable::Section(document, "s");
  read(section);
  return section.Finish().message();
}

TEST(TomlTableTest, ReadsWhatIsThereAndKeepsTheRest) {
  std::string text = "old";
  bool flag = false;
  std::int64_t count = 3;
  double number = 0.5;
  EXPECT_EQ(SaidOf("[s]\ntext = 'new'\nflag = true\nnumber = 2",
                   [&](TomlTable& s) {
                     s.Read("text", text);
                     s.Read("flag", flag);
                     s.Read("count", count, 0, 9);
                     s.Read("number", number, 0, 9);
                   }),
            "");
  EXPECT_EQ(text, "new");
  EXPECT_TRUE(flag);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(number, 2);
  EXPECT_EQ(SaidOf("", [&](TomlTable& s) { s.Read("text", text); }), "");
}

TEST(TomlTableTest, RefusesWithThePlaceAndWhatWouldBeRight) {
  bool flag = false;
  std::int64_t count = 0;
  std::string text;
  EXPECT_EQ(SaidOf("[s]\nflag = 1", [&](TomlTable& s) { s.Read("flag", flag); }),
            "a.toml:2: key 'flag' in [s] is a whole number; it must be true or false");
  EXPECT_EQ(SaidOf("[s]\ncount = 10", [&](TomlTable& s) { s.Read("count", count, 0, 9); }),
            "a.toml:2: key 'count' in [s] is 10; it must be a whole number from 0 to 9");
  EXPECT_EQ(SaidOf("s = 3", [](TomlTable&) {}),
            "a.toml:1: 's' is a whole number, not a section; write [s] above its keys");
  EXPECT_EQ(SaidOf("[s]\nsuorce = 'x'", [&](TomlTable& s) { s.Read("source", text); }),
            "a.toml:2: key 'suorce' in [s] is unknown; did you mean 'source'?");
  const auto needed = [&](TomlTable& s) { s.ReadNeeded("source", text, "me"); };
  EXPECT_EQ(SaidOf("[s]", needed),
            "a.toml:1: [s] has no source; write for example source = \"me\"");
  EXPECT_EQ(SaidOf("[s]\nsource = ' '", needed),
            "a.toml:2: [s] has nothing in source; write for example source = \"me\"");
  EXPECT_EQ(SaidOf("[s]\nrows = 3", [](TomlTable& s) { s.Rows("rows", "s.rows"); }),
            "a.toml:2: key 'rows' in [s] must be rows, each headed [[s.rows]]");
  EXPECT_EQ(ParseTomlText("[s", "a.toml").status().message().rfind("a.toml:1: ", 0), 0U);
}

TEST(TomlTableTest, QuotedTextReadsBack) {
  const std::string text = "a \"b\" \\ c";
  const toml::table document = *ParseTomlText("x = " + TomlQuoted(text), "a.toml");
  EXPECT_EQ(document["x"].value_or(std::string()), text);
  EXPECT_EQ(TomlQuoted("a\nb"), "\"a?b\"");
}

}  // namespace
}  // namespace chorus
