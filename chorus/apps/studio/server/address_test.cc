#include "chorus/apps/studio/server/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chorus::studio {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

TEST(ServedHost, TellsWhoReachesItAndWhatABrowserOpens) {
  for (const char* loopback : {"127.0.0.1", "localhost", "LocalHost", "::1", "[::1]"}) {
    EXPECT_FALSE(ServedHostOf(loopback).others) << loopback;
  }
  EXPECT_THAT(AddressesOf(ServedHostOf("LocalHost"), 80), ElementsAre("http://localhost:80/"));
  EXPECT_THAT(AddressesOf(ServedHostOf("[::1]"), 80), ElementsAre("http://[::1]:80/"));
  const ServedHost named = ServedHostOf("Build-7");
  EXPECT_TRUE(named.others);
  EXPECT_THAT(named.names, Contains("build-7"));
  EXPECT_THAT(AddressesOf(named, 8733), ElementsAre("http://build-7:8733/"));
}

// 0.0.0.0 can be bound, not opened.
TEST(ServedHost, OfAllAddressesGivesThoseThatCanBeOpened) {
  for (const char* all : {"0.0.0.0", "::"}) {
    const ServedHost host = ServedHostOf(all);
    EXPECT_TRUE(host.others);
    const std::vector<std::string> addresses = AddressesOf(host, 8733);
    EXPECT_EQ(addresses.front(), "http://127.0.0.1:8733/");
    for (const std::string& one : addresses) EXPECT_EQ(one.find(all), std::string::npos) << one;
  }
}

}  // namespace
}  // namespace chorus::studio
