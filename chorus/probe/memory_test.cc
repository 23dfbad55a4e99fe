#include "chorus/probe/memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace chorus {
namespace {

// The kernel's own count leaves out what it reserved when it started.
TEST(MemoryTest, IsWhatTheKernelSays) {
  std::ifstream meminfo("/proc/meminfo");
  std::string name;
  std::int64_t kibibytes = 0;
  ASSERT_TRUE(meminfo >> name >> kibibytes);
  ASSERT_EQ(name, "MemTotal:");
  EXPECT_NEAR(static_cast<double>(HostMemory().value()), static_cast<double>(kibibytes) * 1024,
              0.02 * static_cast<double>(kibibytes) * 1024);
}

}  // namespace
}  // namespace chorus
