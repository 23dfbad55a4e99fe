#include "chorus/topology/hardware.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chorus/topology/hardware_text.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;

const Hardware& Of(std::string_view name) { return **Catalogue::BuiltIn().Find(name); }

TEST(CatalogueTest, HasEveryGenerationThatWasAskedFor) {
  for (const char* name :
       {"v100",   "a100",   "h100",   "h800",   "h200",    "b200",    "gb200", "mi300x", "v3",
        "v4",     "v5e",    "v5p",    "v6e",    "pcie3",   "pcie4",   "pcie5", "pcie6",  "ib_edr",
        "ib_hdr", "ib_ndr", "ib_xdr", "eth_10", "eth_100", "eth_400", "host"}) {
    EXPECT_TRUE(Catalogue::BuiltIn().Find(name).ok()) << name;
  }
}

TEST(CatalogueTest, EveryFigureHasASource) {
  int figures = 0;
  for (const Hardware& hardware : Catalogue::BuiltIn().all()) {
    EXPECT_FALSE(hardware.title.empty()) << hardware.name;
    for (const auto& [key, figure] : hardware.figures) {
      ++figures;
      EXPECT_FALSE(figure.source.empty()) << hardware.name << " " << key;
      EXPECT_GT(figure.value, 0) << hardware.name << " " << key;
      for (const Figure::Other& other : figure.also) EXPECT_FALSE(other.source.empty());
    }
  }
  EXPECT_GT(figures, 100);
}

// Sources that differ: one value is used, the others are told.
TEST(CatalogueTest, ConflictsStandAsData) {
  const Figure& memory = *Of("b200").Find("memory");
  EXPECT_EQ(memory.value, 192e9);
  ASSERT_EQ(memory.also.size(), 1U);
  EXPECT_EQ(memory.also[0].value, 180e9);
  EXPECT_EQ(Of("gb200").Find("peak_bf16")->also[0].value, 2.5e15);
  EXPECT_EQ(Of("h800").Find("link_bandwidth")->value, 200e9);
  EXPECT_EQ(Of("h800").Find("link_bandwidth")->also[0].value, 300e9);
  EXPECT_EQ(Of("v5e").Find("link_bandwidth")->value, 45e9);
  EXPECT_EQ(Of("v5e").Find("link_bandwidth")->also[0].value, 50e9);
}

// Links x rate of one link, against the sum that the catalogue gives.
TEST(CatalogueTest, LinksAddUp) {
  EXPECT_EQ(Of("v100").ValueOr("link_bandwidth", 0), 6 * 25e9);
  EXPECT_EQ(Of("a100").ValueOr("link_bandwidth", 0), 12 * 25e9);
  EXPECT_EQ(Of("h100").ValueOr("link_bandwidth", 0), 18 * 25e9);
  EXPECT_EQ(Of("b200").ValueOr("link_bandwidth", 0), 18 * 50e9);
  EXPECT_EQ(Of("ib_ndr").ValueOr("link_bandwidth", 0), 400e9 / 8);
}

TEST(CatalogueTest, EverySectionReadsBackAsItIsWritten) {
  for (Hardware hardware : Catalogue::BuiltIn().all()) {
    hardware.note += R"( with "quotes" and a \ in it)";
    const Result<Catalogue> again = Catalogue::Parse(HardwareText(hardware), "again.toml");
    ASSERT_TRUE(again.ok()) << again.status().ToString() << HardwareText(hardware);
    ASSERT_EQ(again->all().size(), 1U);
    EXPECT_EQ(again->all()[0], hardware) << HardwareText(hardware);
  }
}

Status Parsed(const std::string& text) { return Catalogue::Parse(text, "own.toml").status(); }

TEST(CatalogueTest, UsersAddAndReplace) {
  Catalogue all = Catalogue::BuiltIn();
  const Result<Catalogue> own = Catalogue::Parse(
      "[hardware.mine]\ntitle = \"Mine\"\nfabric = \"switch\"\nnode = 4\n"
      "link_bandwidth = { value = \"10 GB/s\", source = \"me\" }\n"
      "link_latency = { value = \"2 us\", source = \"me\" }\n",
      "own.toml");
  ASSERT_TRUE(own.ok()) << own.status().ToString();
  const std::size_t before = all.all().size();
  all.Merge(*own);
  all.Merge(*own);
  EXPECT_EQ(all.all().size(), before + 1);
  EXPECT_EQ((*all.Find("mine"))->node_size, 4);
}

TEST(CatalogueTest, BadCataloguesSayWhereAndWhatWouldBeRight) {
  EXPECT_THAT(Parsed("").message(), HasSubstr("a catalogue has sections [hardware.NAME]"));
  EXPECT_EQ(Parsed("[hardware.x]\nlink_bandwidth = 450").message(),
            "own.toml:2: 'link_bandwidth' must be { value = \"...\", source = \"...\" }: every "
            "figure says where it comes from");
  EXPECT_THAT(
      Parsed("[hardware.x]\nlink_latency = { value = \"1 GB/s\", source = \"me\" }").message(),
      HasSubstr("own.toml:2: 'link_latency': '1 GB/s' has the unit 'GB/s'"));
  EXPECT_THAT(Parsed("[hardware.x]\nlink_latency = { value = 1, source = \"me\" }").message(),
              HasSubstr("must be text with a unit, as in \"1 us\""));
  EXPECT_THAT(Parsed("[hardware.x]\nfabric = \"tours\"").message(),
              HasSubstr("key 'fabric' in [hardware.x] is \"tours\"; did you mean 'torus'?"));
  EXPECT_THAT(
      Parsed("[hardware.x]\nlink_bandwith = { value = \"1 GB/s\", source = \"\" }").message(),
      HasSubstr("key 'link_bandwith' in [hardware.x] is unknown; did you mean 'link_bandwidth'?"));
  const auto links = [&](const char* value, const char* source) {
    return Parsed(std::string("[hardware.x]\nlinks = { value = \"") + value + "\", source = \"" +
                  source + "\" }")
        .message();
  };
  EXPECT_EQ(links("8x", "me"),
            "own.toml:2: 'links': '8x' is no count; write a whole number without a unit, as 18");
  EXPECT_THAT(links("8B", "me"), HasSubstr("'8B' is no count"));
  EXPECT_EQ(links("0", "me"),
            "own.toml:2: 'links': '0' is nothing; leave links out where there is "
            "none");
  EXPECT_EQ(links("8", " "),
            "own.toml:2: [links] has nothing in source; write for example source = "
            "\"data sheet, 2024\"");
  for (const char* name : {"a.b", "a/b", "gpu-4", ""}) {
    EXPECT_THAT(Parsed(std::string("[hardware.\"") + name + "\"]").message(),
                HasSubstr("is no name of hardware"))
        << name;
  }
  EXPECT_EQ(Parsed("[machine]\non = \"h100\"").message(),
            "own.toml: this describes a machine; give it to --on");
  EXPECT_THAT(Parsed("[hardware.x]\ntitle = \"x\"").message(),
              HasSubstr("[hardware.x] has no link_bandwidth"));
}

}  // namespace
}  // namespace chorus
