#include "chorus/collective/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "chorus/base/test_path_test.h"
#include "chorus/collective/run_ranks.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;

// A variable of this process and of those it forks, as it was before when this ends.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* before = getenv(name);
    if (before != nullptr) before_ = before;
    was_set_ = before != nullptr;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (was_set_) {
      setenv(name_, before_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool was_set_ = false;
};

// A folder with the same choices for both placements.
std::string FolderWith(const std::string& text) {
  const std::string folder = TestPath("choices");
  std::filesystem::create_directories(folder);
  for (const Placement placement : {Placement::kNear, Placement::kFar}) {
    std::ofstream(TuningFile(folder, placement)) << text;
  }
  return folder;
}

// What each rank of a job of processes would choose, and whether a call by it is right.
Result<std::vector<std::string>> Choose(int ranks) {
  return CollectFromRanks(ranks, RankKind::kProcesses, [](Group& group) -> Result<std::string> {
    std::vector<float> x(1000, 1.0F);
    CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
    if (x[999] != static_cast<float>(group.size())) return Internal("a wrong sum");
    const OpTraffic traffic = group.traffic()[OpKind::kAllReduce];
    return std::string(
               ChoicesOf(group).Choose(OpKind::kAllReduce, group.size(), Bytes(4000)).name) +
           (traffic.bytes_sent > 0 && traffic.bytes_sent <= 8000 ? "" : ": miscounted");
  });
}

TEST(Tuning, TheFolderComesFromTheEnvironment) {
  const Variable home("HOME", "/home/me");
  const Variable config("XDG_CONFIG_HOME", "");
  {
    const Variable tuning("CHORUS_TUNING", "");
    EXPECT_EQ(TuningFolder(), "/home/me/.config/chorus");
    const Variable other("XDG_CONFIG_HOME", "/etc/mine");
    EXPECT_EQ(TuningFolder(), "/etc/mine/chorus");
  }
  const Variable off("CHORUS_TUNING", "off");
  EXPECT_EQ(TuningFolder(), "");
  const Variable folder("CHORUS_TUNING", "/tmp/t");
  EXPECT_EQ(TuningFile(TuningFolder(), PlacementOf(60)), "/tmp/t/near.toml");
  EXPECT_EQ(TuningFile(TuningFolder(), PlacementOf(270)), "/tmp/t/far.toml");
}

TEST(Tuning, AllProcessesChooseByTheStoredText) {
  // With the channels' smallest size the text takes several pieces.
  std::string text = "# " + std::string(2000, 'x') + "\n";
  for (const int n : {2, 3}) {
    text += "[all_reduce." + std::to_string(n) + "]\n\"0 B\" = \"ring\"\n";
  }
  const Variable folder("CHORUS_TUNING", FolderWith(text));
  for (const int ranks : {1, 2, 3}) {
    const auto chosen = Choose(ranks);
    ASSERT_TRUE(chosen.ok()) << chosen.status().message();
    if (ranks > 1) {
      EXPECT_THAT(*chosen, ::testing::Each("ring"));
    }
  }
}

TEST(Tuning, WithoutAFileProcessesUseTheBuiltInRule) {
  const std::string rule(ChooseAlgorithm(OpKind::kAllReduce, 2, Bytes(4000)).name);
  const Variable config("XDG_CONFIG_HOME", "/nowhere");
  for (const std::string said : {"off", ""}) {
    const Variable tuning("CHORUS_TUNING", said);
    const auto chosen = Choose(2);
    ASSERT_TRUE(chosen.ok()) << chosen.status().message();
    EXPECT_THAT(*chosen, ::testing::Each(rule));
  }
}

TEST(Tuning, ANamedFolderWithoutAFileStopsEveryProcess) {
  const Variable tuning("CHORUS_TUNING", "/nowhere");
  for (const int ranks : {1, 3}) {
    const auto outcomes = OutcomeOfRanks(
        ranks, RankKind::kProcesses, [](Group&) -> Result<std::string> { return std::string(); });
    for (const auto& outcome : outcomes) {
      ASSERT_FALSE(outcome.ok());
      EXPECT_THAT(outcome.status().message(),
                  HasSubstr("CHORUS_TUNING=/nowhere holds neither near.toml nor far.toml; chorus "
                            "tune --out /nowhere makes them"));
    }
  }
}

TEST(Tuning, ATextThatIsWrongStopsEveryProcessAndNamesItsFile) {
  const std::string folder = FolderWith("[all_reduce.2]\n\"0 B\" = \"rong\"\n");
  const Variable tuning("CHORUS_TUNING", folder);
  const auto outcomes = OutcomeOfRanks(2, RankKind::kProcesses,
                                       [](Group&) -> Result<std::string> { return std::string(); });
  for (const auto& outcome : outcomes) {
    ASSERT_FALSE(outcome.ok());
    EXPECT_THAT(outcome.status().message(), HasSubstr(folder));
    EXPECT_THAT(outcome.status().message(), HasSubstr("no algorithm 'rong' for all_reduce"));
    EXPECT_THAT(outcome.status().message(), HasSubstr("CHORUS_TUNING=off"));
  }
}

TEST(Tuning, GroupsThatAreSplitChooseAlike) {
  const Variable tuning("CHORUS_TUNING", FolderWith("[all_reduce.2]\n\"0 B\" = \"ring\"\n"));
  const Status status = RunRanks(2, RankKind::kProcesses, [](Group& group) -> Status {
    CHORUS_ASSIGN_OR_RETURN(Group half, group.Split(0, group.rank()));
    if (!(ChoicesOf(half) == ChoicesOf(group))) return Internal("other choices");
    return ChoicesOf(half).empty() ? Internal("no choices") : OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace chorus
