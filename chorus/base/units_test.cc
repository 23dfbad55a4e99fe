#include "chorus/base/units.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

TEST(UnitsTest, BytesPrintInBinaryUnits) {
  EXPECT_EQ(ToString(Bytes(0)), "0 B");
  EXPECT_EQ(ToString(Bytes(1023)), "1023 B");
  EXPECT_EQ(ToString(Bytes(1536)), "1.5 KiB");
  EXPECT_EQ(ToString(Bytes(std::int64_t{4} << 20)), "4 MiB");
  EXPECT_EQ(ToString(Bytes((1 << 20) - 1)), "1 MiB");  // not 1024 KiB
  EXPECT_EQ(ToString(Bytes(1023 << 10)), "1023 KiB");
  EXPECT_EQ(ToString(Seconds(999.6e-6)), "1 ms");  // not 1e+03 us
  EXPECT_EQ(ToString(Seconds(999.4e-6)), "999 us");
}

TEST(UnitsTest, BytesParseBothFamilies) {
  EXPECT_EQ(ParseBytes("64")->value(), 64);
  EXPECT_EQ(ParseBytes("4KiB")->value(), 4096);
  EXPECT_EQ(ParseBytes("16GB")->value(), 16'000'000'000);
  EXPECT_EQ(ParseBytes("1.5 MiB")->value(), 1'572'864);
  EXPECT_EQ(ParseBytes("1e3")->value(), 1000);
}

TEST(UnitsTest, EveryNumberOfBytesParsesExactly) {
  EXPECT_EQ(ParseBytes("9223372036854775807")->value(), 9'223'372'036'854'775'807);
  EXPECT_EQ(ParseBytes("9007199254740993 B")->value(), 9'007'199'254'740'993);  // 2^53 + 1
  EXPECT_FALSE(ParseBytes("9223372036854775808").ok());
}

TEST(UnitsTest, BadBytesSayWhatIsWrong) {
  EXPECT_EQ(ParseBytes("abc").status().message(),
            "'abc' is no size; write for example 64, 4KiB or 16GB");
  EXPECT_FALSE(ParseBytes("").ok());
  EXPECT_FALSE(ParseBytes("-1").ok());
  EXPECT_FALSE(ParseBytes("0.5").ok());
  EXPECT_FALSE(ParseBytes("4XB").ok());
  EXPECT_FALSE(ParseBytes("99999999TiB").ok());
}

TEST(UnitsTest, DivisionChangesTheUnit) {
  // 8 GPUs, all_gather of bf16[4096, 65536] at 450 GB/s: V * 7 / (8 * W) = 1.04 ms.
  const Seconds t = Bytes(536'870'912L / 8 * 7) / BytesPerSecond(450e9);
  EXPECT_NEAR(t.value(), 1.0439e-3, 1e-7);
  EXPECT_EQ(ToString(t), "1.04 ms");
}

}  // namespace
}  // namespace chorus
