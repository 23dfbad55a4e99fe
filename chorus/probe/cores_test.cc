#include "chorus/probe/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "chorus/base/test_path_test.h"

namespace chorus {
namespace {

class Folder {
 public:
  Folder() : path_(TestPath("cores")) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  void Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ + "/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(PinToCore, KeepsTheThreadOnOneCoreOfItsMask) {
  std::thread([] {
    const int host = HostCores();
    PinToCore(UsableCores() + 1);  // counted round
    EXPECT_EQ(UsableCores(), 1);
    EXPECT_EQ(HostCores(), host);
  }).join();
}

TEST(CoresOfQuota, IsQuotaOverPeriod) {
  EXPECT_EQ(CoresOfQuota("150000 100000\n"), 1.5);
  EXPECT_EQ(CoresOfQuota("max 100000\n"), std::nullopt);
  EXPECT_EQ(CoresOfQuota(""), std::nullopt);
  EXPECT_EQ(CoresOfQuota("-1\n 100000\n"), std::nullopt);  // version 1's way to say "max"
  EXPECT_EQ(CoresOfQuota("1000 0"), std::nullopt);
}

TEST(QuotaOfGroups, TakesTheSmallestOnTheWayUp) {
  const Folder folder;
  folder.Write("cpu.max", "max 100000\n");
  folder.Write("pod/cpu.max", "200000 100000\n");
  folder.Write("pod/box/cpu.max", "400000 100000\n");
  EXPECT_EQ(QuotaOfGroups("0::/pod/box\n", folder.path()), 2.0);
  EXPECT_EQ(QuotaOfGroups("0::/pod\n", folder.path()), 2.0);
  EXPECT_EQ(QuotaOfGroups("0::/\n", folder.path()), std::nullopt);
  EXPECT_EQ(QuotaOfGroups("0::/elsewhere\n", folder.path()), std::nullopt);
}

TEST(QuotaOfGroups, KnowsVersion1) {
  const Folder folder;
  folder.Write("cpu/pod/cpu.cfs_quota_us", "50000\n");
  folder.Write("cpu/pod/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(QuotaOfGroups("7:memory:/pod\n4:cpu,cpuacct:/pod\n", folder.path()), 0.5);
  EXPECT_EQ(QuotaOfGroups("7:memory:/pod\n4:cpuset:/pod\n", folder.path()), std::nullopt);
}

TEST(UsableCores, FollowsTheAffinityOfTheThread) {
  const int all = UsableCores();
  EXPECT_GE(all, 1);
  EXPECT_LE(all, static_cast<int>(std::thread::hardware_concurrency()));
  int pinned = 0;
  std::thread([&pinned] {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    int core = 0;
    while (!CPU_ISSET(core, &before)) ++core;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    pinned = UsableCores();
  }).join();
  EXPECT_EQ(pinned, 1);
}

}  // namespace
}  // namespace chorus
