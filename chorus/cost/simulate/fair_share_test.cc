#include "chorus/cost/simulate/fair_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "chorus/base/random.h"

namespace chorus {
namespace {

using Routes = std::vector<std::vector<std::int32_t>>;

// The rates of flows over links, all added at once.
std::vector<double> Rates(const std::vector<double>& links, const Routes& routes) {
  FairShare share;
  for (double bandwidth : links) share.AddLink(bandwidth);
  std::vector<FairShare::Flow> flows;
  for (const auto& route : routes) flows.push_back(share.Add(route));
  share.Update();
  std::vector<double> rates;
  for (FairShare::Flow flow : flows) rates.push_back(share.Rate(flow));
  return rates;
}

TEST(FairShareTest, OneFlowTakesTheNarrowestLink) {
  EXPECT_EQ(Rates({10, 4, 7}, {{0, 1, 2}}), (std::vector<double>{4}));
}

TEST(FairShareTest, FlowsOfOneLinkShareIt) {
  EXPECT_EQ(Rates({12}, {{0}, {0}, {0}}), (std::vector<double>{4, 4, 4}));
}

// The textbook's line of two links: the long flow is held back by the narrow link, and the short
// one of the wide link takes what it leaves.
TEST(FairShareTest, WhatOneCannotUseAnotherTakes) {
  EXPECT_EQ(Rates({2, 10}, {{0, 1}, {0}, {1}}), (std::vector<double>{1, 1, 9}));
}

TEST(FairShareTest, ALinkThatStandsTwiceInARouteCountsTwice) {
  EXPECT_EQ(Rates({12}, {{0, 0}, {0}}), (std::vector<double>{4, 4}));
}

TEST(FairShareTest, TellsOnlyOfWhatChanged) {
  FairShare share;
  share.AddLink(10);
  share.AddLink(8);
  const std::vector<std::int32_t> first = {0}, second = {1};
  const FairShare::Flow a = share.Add(first);
  EXPECT_EQ(share.Update(), std::vector<FairShare::Flow>{a});
  const FairShare::Flow b = share.Add(second);
  EXPECT_EQ(share.Update(), std::vector<FairShare::Flow>{b});
  const FairShare::Flow c = share.Add(first);
  EXPECT_EQ(share.Update().size(), 2U);
  EXPECT_EQ(share.Rate(a), 5);
  share.Remove(c);
  EXPECT_EQ(share.Update(), std::vector<FairShare::Flow>{a});
  EXPECT_EQ(share.Rate(a), 10);
}

// The definition itself, on random networks, with flows that come and go: no link is overfull, and
// every flow has a link that is full and on which no flow is faster.
TEST(FairShareTest, IsMaxMinFair) {
  const RandomStream random(7, "fair share");
  std::uint64_t draw = 0;
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(n), draw++));
  };
  for (int trial = 0; trial < 300; ++trial) {
    FairShare share;
    const std::int64_t links = 1 + below(8);
    std::vector<double> bandwidth;
    for (std::int64_t l = 0; l < links; ++l) {
      bandwidth.push_back(static_cast<double>(1 + below(20)));
      share.AddLink(bandwidth.back());
    }
    Routes routes(30);
    std::map<FairShare::Flow, const std::vector<std::int32_t>*> alive;
    for (std::vector<std::int32_t>& route : routes) {
      for (std::int64_t hops = 1 + below(3); hops > 0; --hops) {
        route.push_back(static_cast<std::int32_t>(below(links)));
      }
      alive[share.Add(route)] = &route;
      if (below(3) == 0) {
        share.Remove(alive.begin()->first);
        alive.erase(alive.begin());
      }
      if (below(2) == 0) share.Update();
    }
    share.Update();
    std::vector<double> load(links, 0);
    for (const auto& [flow, route] : alive) {
      for (std::int32_t l : *route) load[l] += share.Rate(flow);
    }
    for (std::int64_t l = 0; l < links; ++l) EXPECT_LE(load[l], bandwidth[l] * (1 + 1e-9));
    for (const auto& [flow, route] : alive) {
      const double own = share.Rate(flow);
      const bool held = std::any_of(route->begin(), route->end(), [&](std::int32_t l) {
        if (load[l] < bandwidth[l] * (1 - 1e-9)) return false;
        for (const auto& [other, way] : alive) {
          const bool on = std::find(way->begin(), way->end(), l) != way->end();
          if (on && share.Rate(other) > own * (1 + 1e-9)) return false;
        }
        return true;
      });
      EXPECT_TRUE(held) << "trial " << trial << " flow " << flow;
    }
  }
}

}  // namespace
}  // namespace chorus
