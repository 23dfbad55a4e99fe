#include "chorus/probe/write_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "chorus/base/test_path_test.h"
#include "chorus/probe/read_file.h"

namespace chorus {
namespace {

std::string WrittenAt(const std::string& path) {
  const Result<std::string> read = ReadFile(path, "file", "give one");
  return read.ok() ? *read : read.status().message();
}

TEST(WriteFile, ReplacesWhatWasThere) {
  const std::string path = TestPath("written");
  ASSERT_TRUE(WriteFile(path, "long text", "--out").ok());
  ASSERT_TRUE(WriteFile(path, "short", "--out").ok());
  EXPECT_EQ(WrittenAt(path), "short");
}

TEST(WriteFile, ALinkStaysOne) {
  const std::string path = TestPath("target"), link = TestPath("link");
  ASSERT_TRUE(WriteFile(path, "old", "--out").ok());
  std::filesystem::remove(link);
  std::filesystem::create_symlink(path, link);
  ASSERT_TRUE(WriteFile(link, "new", "--out").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(WrittenAt(path), "new");
}

TEST(WriteFile, SaysWhyItCannot) {
  EXPECT_EQ(WriteFile("/nowhere/x.svg", "", "--plot").message(),
            "--plot '/nowhere/x.svg' cannot be written (No such file or directory); give the path "
            "of a file in a folder that is there");
  EXPECT_EQ(WriteFile("/", "", "--plot").message(),
            "--plot '/' cannot be written (Is a directory); give the path of a file in a folder "
            "that is there");
  EXPECT_EQ(WriteFile("", "", "--plot").code(), StatusCode::kInvalidArgument);
  const Status full = WriteFile("/dev/full", "text", "--plot");
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(full.message(), "--plot '/dev/full' cannot be written (No space left on device)");
}

// What was there stays, and nothing half written is left beside it.
TEST(WriteFile, IsWholeOrNotAtAll) {
  const std::string folder = TestPath("folder");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/a.svg";
  ASSERT_TRUE(WriteFile(path, "old", "--plot").ok());
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little = {1000, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &little);
  const Status status = WriteFile(path, std::string(5000, 'x'), "--plot");
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.message();
  EXPECT_EQ(WrittenAt(path), "old");
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++files;
  EXPECT_EQ(files, 1U);
}

}  // namespace
}  // namespace chorus
