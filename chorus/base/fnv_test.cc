#include "chorus/base/fnv.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

// The values that its authors publish for these texts.
TEST(Fnv1aTest, HasTheKnownValues) {
  EXPECT_EQ(Fnv1a(""), 0xcbf29ce484222325u);
  EXPECT_EQ(Fnv1a("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(Fnv1a("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(Fnv1a("bar", Fnv1a("foo")), Fnv1a("foobar"));
}

}  // namespace
}  // namespace chorus
