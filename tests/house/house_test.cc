// The laws of the house, first on small bad trees (each must be caught), then on this repository.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/house/law.h"

namespace chorus::house {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CodeOnly, BlanksCommentsAndLiteralsAndKeepsLines) {
  EXPECT_EQ(CodeOnly("a // mmap\nb"), "a        \nb");
  EXPECT_EQ(CodeOnly("a /* x\ny */ b"), "a     \n     b");
  EXPECT_EQ(CodeOnly(R"(f("a\"b") g)"), "f(      ) g");
  EXPECT_EQ(CodeOnly("x = 1'000; c = '\"'; y"), "x = 1'000; c =    ; y");
  EXPECT_EQ(CodeOnly("s = R\"x(\"mmap)\")x\"; y"), "s =               ; y");
}

TEST(RoomOf, IsTheFolderBelowChorus) {
  EXPECT_EQ(RoomOf("chorus/mesh/spec.h"), "mesh");
  EXPECT_EQ(RoomOf("chorus/transport/shm/region.h"), "transport");
  EXPECT_EQ(RoomOf("chorus/apps/cli/main.cc"), "apps/cli");
  EXPECT_EQ(RoomOf("tests/house/law.h"), "");
}

TEST(Floors, ARoomMayNotIncludeItsOwnFloorOrAHigherOne) {
  EXPECT_THAT(CheckFloors({{"chorus/mesh/a.h",
                            "#include \"chorus/base/status.h\"\n"
                            "#include \"chorus/mesh/b.h\"\n"}}),
              IsEmpty());
  EXPECT_THAT(CheckFloors({{"chorus/verify/a.cc", "\n#include \"chorus/algorithm/ring.h\"\n"}}),
              ElementsAre("chorus/verify/a.cc:2: verify (floor 3) includes chorus/algorithm/ring.h "
                          "(floor 3); it may include floors up to 2"));
  EXPECT_THAT(CheckFloors({{"chorus/base/a.h", "# include \"chorus/train/loop.h\"\n"}}),
              ElementsAre(HasSubstr("includes chorus/train/loop.h (floor 6)")));
  EXPECT_THAT(CheckFloors({{"chorus/base/a.h", "// #include \"chorus/train/loop.h\"\n"}}),
              IsEmpty());
}

TEST(Floors, ATestMayIncludeItsOwnFloorButNoHigherOne) {
  EXPECT_THAT(CheckFloors({{"chorus/verify/a_test.cc", "#include \"chorus/algorithm/ring.h\"\n"}}),
              IsEmpty());
  EXPECT_THAT(CheckFloors({{"chorus/verify/a_test.cc", "#include \"chorus/shard/reshard.h\"\n"}}),
              ElementsAre(HasSubstr("it may include floors up to 3")));
}

TEST(Floors, AFolderThatIsNoRoomIsReported) {
  EXPECT_THAT(CheckFloors({{"chorus/attic/a.h", ""}}),
              ElementsAre(HasSubstr("'attic' is not a room")));
}

TEST(Thinking, IncludesNoDoingRoom) {
  // Floors alone would allow it: kernel stands lower than graph.
  EXPECT_THAT(CheckThinkingIsPure({{"chorus/graph/a.cc", "#include \"chorus/kernel/matmul.h\"\n"}}),
              ElementsAre(HasSubstr("includes chorus/kernel/matmul.h of a doing room")));
  EXPECT_THAT(CheckThinkingIsPure({{"chorus/run/a.cc", "#include \"chorus/kernel/matmul.h\"\n"}}),
              IsEmpty());
}

TEST(Thinking, HasNoThreadClockFileSocketOrEnvironment) {
  for (const char* header : {"thread", "mutex", "atomic", "chrono", "fstream", "filesystem",
                             "unistd.h", "sys/socket.h", "netinet/in.h", "iostream"}) {
    const SourceFile file{"chorus/cost/a.cc", "#include <" + std::string(header) + ">\n"};
    EXPECT_THAT(CheckThinkingIsPure({file}), ElementsAre(HasSubstr(header))) << header;
  }
  for (const char* call : {"getenv(\"X\")", "time(nullptr)", "std::random_device r",
                           "fmt::print(\"x\")", "std::cout << 1", "system(\"ls\")"}) {
    const SourceFile file{"chorus/cost/a.cc", "void F() { " + std::string(call) + "; }\n"};
    EXPECT_EQ(CheckThinkingIsPure({file}).size(), 1U) << call;
  }
  EXPECT_THAT(CheckThinkingIsPure({{"chorus/cost/a.cc",
                                    "#include <vector>\n"
                                    "// getenv(x) is not for us\n"
                                    "double time = 1; auto t = a.step_time(3);\n"}}),
              IsEmpty());
}

TEST(Thinking, TestsMayPrintButNotIncludeDoing) {
  EXPECT_THAT(CheckThinkingIsPure({{"chorus/cost/a_test.cc",
                                    "#include <iostream>\n"
                                    "void F() { std::cout << 1; }\n"}}),
              IsEmpty());
  EXPECT_THAT(CheckThinkingIsPure({{"chorus/cost/a_test.h", "#include <fstream>\n"}}), IsEmpty());
  EXPECT_EQ(CheckThinkingIsPure({{"chorus/cost/a_test.cc", "#include \"chorus/run/execute.h\"\n"}})
                .size(),
            1U);
}

TEST(Cost, FormulasAndSimulatorAreApart) {
  EXPECT_THAT(CheckFormulasAndSimulatorAreApart(
                  {{"chorus/cost/formula/a.cc", "#include \"chorus/cost/simulate/b.h\"\n"}}),
              ElementsAre(HasSubstr("a.cc:1: includes chorus/cost/simulate/b.h")));
  EXPECT_THAT(CheckFormulasAndSimulatorAreApart(
                  {{"chorus/cost/simulate/a.cc", "\n#include \"chorus/cost/formula/b.h\"\n"}}),
              ElementsAre(HasSubstr("a.cc:2: includes chorus/cost/formula/b.h")));
  EXPECT_THAT(
      CheckFormulasAndSimulatorAreApart(
          {{"chorus/cost/compare_test.cc",
            "#include \"chorus/cost/formula/b.h\"\n#include \"chorus/cost/simulate/b.h\"\n"},
           {"chorus/cost/formula/a.cc", "#include \"chorus/topology/topology.h\"\n"}}),
      IsEmpty());
}

TEST(OutsideThings, AreNamedInOneFolder) {
  const std::string shm = "#include <sys/mman.h>\nvoid* p = mmap(nullptr, 1, 2, 3, 4, 5);\n";
  EXPECT_THAT(CheckOneFolderForEach({{"chorus/transport/shm/a.cc", shm}}), IsEmpty());
  EXPECT_THAT(CheckOneFolderForEach({{"chorus/run/a.cc", shm}}),
              ElementsAre("chorus/run/a.cc:1: names shared memory ('sys/mman.h'), which only "
                          "chorus/transport/shm/ and bench/peers/ may",
                          "chorus/run/a.cc:2: names shared memory ('mmap'), which only "
                          "chorus/transport/shm/ and bench/peers/ may"));
  const std::vector<SourceFile> bad = {{"chorus/run/a.cc", "ucp_init();"},
                                       {"chorus/run/b.cc", "#include <torch/torch.h>\n"},
                                       {"chorus/run/c.cc", "httplib::Server s;"},
                                       {"chorus/run/d.cc", "#include \"hwy/highway.h\"\n"},
                                       {"chorus/run/e.cc", "dnnl::engine e;"},
                                       {"chorus/mesh/f.cc", "#include <toml++/toml.h>\n"},
                                       {"chorus/run/g.cc", "#include <CLI/CLI.hpp>\n"}};
  EXPECT_EQ(CheckOneFolderForEach(bad).size(), bad.size());
}

TEST(Drawers, AreReported) {
  EXPECT_THAT(CheckNoDrawers({{"chorus/run/util/a.h", ""}, {"tests/common/b.h", ""}}),
              ElementsAre(HasSubstr("chorus/run/util:1"), HasSubstr("tests/common:1")));
}

TEST(TypeNames, AreUniqueInTheirNamespace) {
  const SourceFile work{"chorus/cost/a.h", "namespace chorus {\nstruct Work {\n};\n}\n"};
  EXPECT_THAT(CheckTypeNamesAreUnique(
                  {work,
                   {"chorus/run/b.h", "namespace chorus {\nclass Work;\nstruct Works {\n};\n"},
                   {"chorus/run/c.cc", "namespace chorus {\nnamespace {\nstruct Work {\n};\n"},
                   {"chorus/apps/d.h", "namespace chorus::cli {\nstruct Work {\n};\n"}}),
              IsEmpty());
  EXPECT_THAT(CheckTypeNamesAreUnique(
                  {work,
                   {"chorus/run/b.h",
                    "namespace chorus {\n\nclass alignas(64) Work final : public A {\n"}}),
              ElementsAre("chorus/run/b.h:3: chorus::Work is also the name of another type, at "
                          "chorus/cost/a.h:2"));
}

TEST(Includes, AreByPathAndNameWhatIsThere) {
  const SourceFile spec{"chorus/mesh/spec.h", "#pragma once\n"};
  EXPECT_THAT(
      CheckIncludesAreByPath({spec, {"chorus/mesh/spec.cc", "#include \"chorus/mesh/spec.h\""}}),
      IsEmpty());
  EXPECT_THAT(CheckIncludesAreByPath({spec, {"chorus/mesh/spec.cc", "#include \"spec.h\""}}),
              ElementsAre(HasSubstr("spec.cc:1: there is no spec.h")));
  EXPECT_THAT(CheckIncludesAreByPath({{"chorus/mesh/spec.h", "// #pragma once\n"}}),
              ElementsAre(HasSubstr("without #pragma once")));
}

TEST(Includes, OwnHeaderComesFirst) {
  const SourceFile spec{"chorus/mesh/spec.h", "#pragma once\n"};
  EXPECT_THAT(
      CheckOwnHeaderComesFirst({spec,
                                {"chorus/mesh/spec.cc", "// A.\n#include \"chorus/mesh/spec.h\"\n"},
                                {"chorus/mesh/spec_test.cc", "#include <gtest/gtest.h>\n"}}),
      IsEmpty());
  EXPECT_THAT(
      CheckOwnHeaderComesFirst(
          {spec,
           {"chorus/mesh/spec.cc", "\n#include <vector>\n#include \"chorus/mesh/spec.h\"\n"}}),
      ElementsAre("chorus/mesh/spec.cc:2: its first include must be its own header, "
                  "chorus/mesh/spec.h"));
}

TEST(PublicHeaders, GetNoFmtThroughOthers) {
  const std::vector<SourceFile> files = {
      {"chorus/collective/group.h", "#include \"chorus/base/units.h\"\n"},
      {"chorus/base/units.h", "#include <fmt/core.h>\n"}};
  EXPECT_THAT(CheckPublicHeadersAreLean(files, {"chorus/collective/group.h"}),
              ElementsAre(HasSubstr("gets <fmt/core.h> through chorus/base/units.h")));
  EXPECT_THAT(CheckPublicHeadersAreLean(files, {"chorus/gone.h"}),
              ElementsAre(HasSubstr("not there")));
}

TEST(Pages, EachRoomHasOneThatTheIndexLinks) {
  std::vector<SourceFile> files = {{"chorus/apps/cli/main.cc", ""}, {"docs/README.md", ""}};
  EXPECT_THAT(CheckEveryRoomHasItsPage(files),
              ElementsAre("docs/cli.md:1: room apps/cli has no page"));
  files.push_back({"docs/cli.md", ""});
  EXPECT_THAT(CheckEveryRoomHasItsPage(files), ElementsAre("docs/README.md:1: no link to cli.md"));
  files[1].text = "[cli](cli.md)";
  EXPECT_THAT(CheckEveryRoomHasItsPage(files), IsEmpty());
}

TEST(Pages, LinksLeadToWhatIsThere) {
  const auto exists = [](const std::string& path) { return path == "docs/mesh.md"; };
  EXPECT_THAT(CheckLinksLead({{"docs/a.md", "[m](mesh.md) [n](mesh.md#x) [w](https://a.example)"},
                              {"README.md", "[m](docs/mesh.md)"}},
                             exists),
              IsEmpty());
  EXPECT_THAT(CheckLinksLead({{"docs/a.md", "\n[m](docs/mesh.md)"}}, exists),
              ElementsAre("docs/a.md:2: the link to docs/mesh.md leads nowhere"));
}

TEST(Build, ListsRoomsOnTheirFloors) {
  EXPECT_THAT(CheckBuildListsTheSameFloors("# floor 0\nchorus_room(base)\n"), IsEmpty());
  EXPECT_THAT(CheckBuildListsTheSameFloors("# floor 2\nchorus_room(mesh PACKAGES x)\n"),
              ElementsAre(HasSubstr("mesh stands on floor 2 here and on floor 1")));
  EXPECT_THAT(CheckBuildListsTheSameFloors("chorus_room(attic)\n"),
              ElementsAre(HasSubstr("attic")));
}

// This repository, read once.
class Repository : public ::testing::Test {
 protected:
  static const std::vector<SourceFile>& Files() {
    static const std::vector<SourceFile> files = ReadTree(CHORUS_SOURCE_DIR);
    return files;
  }
  static std::string Lines(const Findings& findings) {
    std::string lines;
    for (const std::string& finding : findings) lines += "\n" + finding;
    return lines;
  }
};

TEST_F(Repository, IsRead) { EXPECT_GT(Files().size(), 20U); }
TEST_F(Repository, KeepsTheFloors) { EXPECT_EQ(Lines(CheckFloors(Files())), ""); }
TEST_F(Repository, ThinksPurely) { EXPECT_EQ(Lines(CheckThinkingIsPure(Files())), ""); }
TEST_F(Repository, KeepsFormulasAndSimulatorApart) {
  EXPECT_EQ(Lines(CheckFormulasAndSimulatorAreApart(Files())), "");
}
TEST_F(Repository, NamesOutsideThingsInOneFolder) {
  EXPECT_EQ(Lines(CheckOneFolderForEach(Files())), "");
}
TEST_F(Repository, HasNoDrawers) { EXPECT_EQ(Lines(CheckNoDrawers(Files())), ""); }
TEST_F(Repository, HasUniqueTypeNames) { EXPECT_EQ(Lines(CheckTypeNamesAreUnique(Files())), ""); }
TEST_F(Repository, IncludesByPath) { EXPECT_EQ(Lines(CheckIncludesAreByPath(Files())), ""); }
TEST_F(Repository, IncludesOwnHeadersFirst) {
  EXPECT_EQ(Lines(CheckOwnHeaderComesFirst(Files())), "");
}
TEST_F(Repository, HasLeanPublicHeaders) {
  EXPECT_EQ(Lines(CheckPublicHeadersAreLean(Files(), {CHORUS_PUBLIC_HEADERS})), "");
}
TEST_F(Repository, HasAPageForEachRoom) { EXPECT_EQ(Lines(CheckEveryRoomHasItsPage(Files())), ""); }
TEST_F(Repository, HasNoDeadLinks) {
  const std::filesystem::path root(CHORUS_SOURCE_DIR);
  EXPECT_EQ(Lines(CheckLinksLead(
                Files(), [&](const std::string& p) { return std::filesystem::exists(root / p); })),
            "");
}
TEST_F(Repository, IsBuiltInTheOrderOfItsFloors) {
  const auto file = std::find_if(Files().begin(), Files().end(),
                                 [](const SourceFile& f) { return f.path == "CMakeLists.txt"; });
  ASSERT_NE(file, Files().end());
  EXPECT_EQ(Lines(CheckBuildListsTheSameFloors(file->text)), "");
}

}  // namespace
}  // namespace chorus::house
