#include "chorus/probe/read_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "chorus/base/test_path_test.h"

namespace chorus {
namespace {

TEST(ReadFile, GivesEveryByte) {
  const std::string path = TestPath("bytes");
  std::string bytes = "a\r\n";
  bytes.push_back('\0');
  bytes += std::string(200'000, 'b');  // more than one read
  std::ofstream(path, std::ios::binary) << bytes;
  const Result<std::string> read = ReadFile(path, "file", "give one");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, bytes);
}

TEST(ReadFile, AnEmptyFileIsNoError) {
  const Result<std::string> read = ReadFile("/dev/null", "file", "give one");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, "");
}

TEST(ReadFile, SaysWhyItCannot) {
  const Status missing = ReadFile("/nowhere/x", "schedule", "give a path").status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_EQ(missing.message(),
            "schedule '/nowhere/x' cannot be read (No such file or directory); give a path");
  EXPECT_EQ(ReadFile("/", "schedule", "give a path").status().message(),
            "schedule '/' cannot be read (Is a directory); give a path");
}

}  // namespace
}  // namespace chorus
