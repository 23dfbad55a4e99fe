#include "chorus/topology/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace chorus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr LinkSpec kLink = {Seconds(1e-6), BytesPerSecond(100e9)};
constexpr LinkSpec kNic = {Seconds(5e-6), BytesPerSecond(25e9)};

Topology Switch(std::int64_t devices, std::int64_t nodes = 1) {
  Topology::Definition d;
  d.node_size = devices;
  d.link = kLink;
  d.nodes = nodes;
  d.nics = devices;
  d.nic = kNic;
  return *Topology::Make(d);
}

Topology Torus(std::vector<TorusAxis> axes) {
  Topology::Definition d;
  d.fabric = Fabric::kTorus;
  d.link = kLink;
  for (const TorusAxis& axis : axes) d.node_size *= axis.size;
  d.axes = std::move(axes);
  return *Topology::Make(d);
}

Topology Mesh(std::int64_t devices) {
  Topology::Definition d;
  d.fabric = Fabric::kMesh;
  d.node_size = devices;
  d.link = kLink;
  return *Topology::Make(d);
}

std::vector<std::string> Way(const Topology& t, std::int64_t from, std::int64_t to) {
  std::vector<LinkId> route;
  t.AppendRoute(from, to, route);
  std::vector<std::string> names;
  for (LinkId link : route) names.push_back(t.LinkName(link));
  return names;
}

double Latency(const Topology& t, std::int64_t from, std::int64_t to) {
  std::vector<LinkId> route;
  t.AppendRoute(from, to, route);
  double latency = 0;
  for (LinkId link : route) latency += t.Link(link).latency.value();
  return latency;
}

TEST(TopologyTest, ASwitchJoinsTwoPorts) {
  const Topology t = Switch(8);
  EXPECT_THAT(Way(t, 3, 5), ElementsAre("port of device 3, out", "port of device 5, in"));
  EXPECT_EQ(Latency(t, 3, 5), 1e-6);
  EXPECT_THAT(Way(t, 3, 3), ElementsAre());
}

TEST(TopologyTest, BetweenNodesGoesThroughTheNicOfTheDevice) {
  Topology::Definition d = Switch(8, 4).definition();
  d.nics = 4;
  d.leaf_nodes = 2;
  d.oversubscription = 4;
  const Topology t = *Topology::Make(d);
  EXPECT_THAT(Way(t, 3, 8), ElementsAre("nic 1 of node 0, out", "nic 0 of node 1, in"));
  EXPECT_THAT(Way(t, 7, 31), ElementsAre("nic 3 of node 0, out", "leaf switch 0, up",
                                         "leaf switch 1, down", "nic 3 of node 3, in"));
  EXPECT_EQ(Latency(t, 7, 31), 5e-6);
  // 2 nodes x 4 nics x 25 GB/s from below, a quarter of it goes up.
  std::vector<LinkId> route;
  t.AppendRoute(7, 31, route);
  EXPECT_EQ(t.Link(route[1]).bandwidth.value(), 50e9);
}

TEST(TopologyTest, ATorusGoesTheShorterWayAxisByAxis) {
  const Topology t = Torus({{4, true}, {3, false}});
  EXPECT_THAT(Way(t, 0, 2),
              ElementsAre("link of device 0 up axis 1", "link of device 1 up axis 1"));
  EXPECT_THAT(Way(t, 0, 9), ElementsAre("link of device 0 down axis 0"));
  EXPECT_THAT(Way(t, 2, 7),
              ElementsAre("link of device 2 down axis 1", "link of device 1 up axis 0",
                          "link of device 4 up axis 0"));
  EXPECT_DOUBLE_EQ(Latency(t, 2, 7), 3e-6);
}

TEST(TopologyTest, AMeshHasALinkForEachPair) {
  EXPECT_THAT(Way(Mesh(8), 3, 5), ElementsAre("link 3 -> 5"));
}

TEST(TopologyTest, LinksTouchTheirDevices) {
  const Topology torus = Torus({{4, true}});
  std::vector<LinkId> route;
  torus.AppendRoute(3, 0, route);
  EXPECT_TRUE(torus.Touches(route[0], 3));
  EXPECT_TRUE(torus.Touches(route[0], 0));
  EXPECT_FALSE(torus.Touches(route[0], 1));
  const Topology mesh = Mesh(4);
  route.clear();
  mesh.AppendRoute(1, 2, route);
  EXPECT_TRUE(mesh.Touches(route[0], 2));
  EXPECT_FALSE(mesh.Touches(route[0], 3));
}

// Of every topology and every shift that it calls a symmetry: moved routes are routes, and a
// link's representative is a link of the same kind that all its images share.
TEST(TopologyTest, SymmetriesAreSymmetries) {
  Topology::Definition fat = Switch(2, 8).definition();
  fat.leaf_nodes = 2;
  fat.oversubscription = 2;
  const std::vector<Topology> all = {Switch(6),
                                     Switch(4, 3),
                                     *Topology::Make(fat),
                                     Torus({{8, true}}),
                                     Torus({{8, false}}),
                                     Torus({{4, true}, {3, false}}),
                                     Torus({{3, true}, {4, true}, {2, false}}),
                                     Mesh(6)};
  int symmetries = 0;
  for (const Topology& t : all) {
    const std::int64_t n = t.device_count();
    for (std::int64_t shift = 1; shift <= n; ++shift) {
      if (n % shift != 0 || !t.IsSymmetric(shift)) continue;
      ++symmetries;
      for (std::int64_t a = 0; a < n; ++a) {
        for (std::int64_t b = 0; b < n; ++b) {
          std::vector<LinkId> route, moved;
          t.AppendRoute(a, b, route);
          t.AppendRoute((a + shift) % n, (b + shift) % n, moved);
          ASSERT_EQ(route.size(), moved.size()) << t.ToString() << " shift " << shift;
          for (std::size_t i = 0; i < route.size(); ++i) {
            EXPECT_EQ(t.Representative(route[i], shift), t.Representative(moved[i], shift));
            EXPECT_EQ(t.Link(route[i]), t.Link(moved[i]));
          }
        }
      }
      // Every orbit has as many links as a device has images.
      std::map<LinkId, std::set<LinkId>> orbits;
      for (std::int64_t a = 0; a < n; ++a) {
        for (std::int64_t b = 0; b < n; ++b) {
          std::vector<LinkId> route;
          t.AppendRoute(a, b, route);
          for (LinkId link : route) orbits[t.Representative(link, shift)].insert(link);
        }
      }
      for (const auto& [representative, links] : orbits) {
        EXPECT_EQ(static_cast<std::int64_t>(links.size()), n / shift)
            << t.ToString() << " shift " << shift << ": " << t.LinkName(representative);
      }
    }
  }
  EXPECT_GT(symmetries, 20);
}

TEST(TopologyTest, PrintsWhatItIs) {
  EXPECT_EQ(Switch(8, 2).ToString(),
            "8 devices on a switch, 100 GB/s per direction and 1 us; 2 nodes with 8 NICs each, 25 "
            "GB/s per direction and 5 us");
  EXPECT_EQ(Torus({{8, true}, {4, false}}).ToString(),
            "torus 8 (wraps) x 4 (no wrap), 100 GB/s per direction and 1 us a link");
}

TEST(TopologyTest, BadInputSaysWhatWouldBeRight) {
  const auto message = [](const Topology::Definition& d) {
    return std::string(Topology::Make(d).status().message());
  };
  Topology::Definition d = Switch(8, 4).definition();
  d.node_size = 0;
  EXPECT_THAT(message(d), HasSubstr("4 nodes of 0 devices; give 1 or more of each"));
  d = Switch(8, 4).definition();
  d.link.bandwidth = BytesPerSecond(0);
  EXPECT_THAT(message(d), HasSubstr("the bandwidth of the link inside a node is 0 B/s"));
  d = Switch(8, 4).definition();
  d.leaf_nodes = 3;
  EXPECT_THAT(message(d), HasSubstr("leaf switches of 3 nodes do not fit 4 nodes"));
  d.leaf_nodes = 2;
  d.oversubscription = 0.5;
  EXPECT_THAT(message(d), HasSubstr("an oversubscription of 0.5; give 1"));
  d.nics = 9;
  EXPECT_THAT(message(d), HasSubstr("9 ports between nodes for 8 devices; give 1 to 8"));
  d = Torus({{4, true}}).definition();
  d.node_size = 8;
  EXPECT_THAT(message(d), HasSubstr("the axes make 4 devices, the node has 8"));
}

}  // namespace
}  // namespace chorus
