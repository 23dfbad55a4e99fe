#include "chorus/base/rate.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

TEST(RateTest, BitsAndBytesAreToldApart) {
  EXPECT_EQ(ParseBandwidth("450GB/s")->value(), 450e9);
  EXPECT_EQ(ParseBandwidth("400 Gbit/s")->value(), 50e9);
  EXPECT_EQ(ParseBandwidth("1 GiB/s")->value(), 0x1p30);
}

TEST(RateTest, TimesAndRates) {
  EXPECT_EQ(ParseSeconds("1.5us")->value(), 1.5e-6);
  EXPECT_EQ(ParseSeconds("2 s")->value(), 2);
  EXPECT_EQ(ParseFlopRate("989TFLOP/s")->value(), 989e12);
}

TEST(RateTest, PrintsInUnitsOfDataSheets) {
  EXPECT_EQ(ToString(BytesPerSecond(450e9)), "450 GB/s");
  EXPECT_EQ(ToString(BytesPerSecond(62.5e6)), "62.5 MB/s");
  EXPECT_EQ(ToString(BytesPerSecond(3.35e12)), "3.35 TB/s");
  EXPECT_EQ(ToString(BytesPerSecond(999.96e3)), "1 MB/s");  // not 1000 KB/s
  EXPECT_EQ(ToString(BytesPerSecond(999.94e3)), "999.9 KB/s");
  EXPECT_EQ(ToString(FlopsPerSecond(989e12)), "989 TFLOP/s");
}

TEST(RateTest, WhatIsNotAUnitOfItIsRefused) {
  EXPECT_EQ(ParseBandwidth("450").status().message(),
            "'450' has no unit; use B/s, KB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s, "
            "Mbit/s, Gbit/s, Tbit/s");
  EXPECT_EQ(ParseSeconds("3GB/s").status().message(),
            "'3GB/s' has the unit 'GB/s', which is none of a time; use ns, us, ms, s");
  EXPECT_EQ(ParseSeconds("-1us").status().message(), "'-1us' is no time; write for example 1.2us");
  EXPECT_FALSE(ParseFlopRate("nan TFLOP/s").ok());
}

TEST(RateTest, BytesInPowersOfAThousand) {
  EXPECT_EQ(DecimalBytes(1), "1 B");
  EXPECT_EQ(DecimalBytes(140e9), "140 GB");
  EXPECT_EQ(DecimalBytes(231.2e6), "231.2 MB");
  EXPECT_EQ(DecimalBytes(5e18), "5 EB");
}

}  // namespace
}  // namespace chorus
