#include "chorus/topology/machine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chorus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Machine Named(std::string_view name) {
  Result<Machine> machine = MachineNamed(name, Catalogue::BuiltIn());
  EXPECT_TRUE(machine.ok()) << machine.status().ToString();
  return *std::move(machine);
}

std::string Refusal(std::string_view name) {
  return MachineNamed(name, Catalogue::BuiltIn()).status().message();
}

std::vector<bool> WrapsOf(const Machine& machine) {
  std::vector<bool> wraps;
  for (const TorusAxis& axis : machine.topology.definition().axes) wraps.push_back(axis.wraps);
  return wraps;
}

std::vector<bool> Wraps(std::string_view name) { return WrapsOf(Named(name)); }

TEST(MachineTest, NamesSayDevicesAndNodes) {
  EXPECT_EQ(Named("h100").topology.device_count(), 8);
  EXPECT_EQ(Named("h100-4").topology.device_count(), 4);
  const Machine m = Named("H100-8x16");
  EXPECT_EQ(m.topology.device_count(), 128);
  EXPECT_EQ(m.topology.definition().link.bandwidth.value(), 450e9);
  EXPECT_EQ(m.topology.definition().nic.bandwidth.value(), 50e9);
  EXPECT_EQ(m.topology.definition().nics, 8);
  EXPECT_EQ(Named("gb200-72").topology.device_count(), 18 * 4);
  EXPECT_EQ(Named("mi300x").topology.definition().fabric, Fabric::kMesh);
}

// Half a node has half of its ports.
TEST(MachineTest, PartOfANodeHasItsShareOfPorts) {
  EXPECT_EQ(Named("h100-4x2").topology.definition().nics, 4);
  EXPECT_EQ(Named("v100-2x2").topology.definition().nics, 1);
}

TEST(MachineTest, WrapRulesOfEachTpu) {
  EXPECT_THAT(Wraps("v5e-8x16"), ElementsAre(false, true));
  EXPECT_THAT(Wraps("v6e-16x16"), ElementsAre(true, true));
  EXPECT_THAT(Wraps("tpu-v5e-8x4"), ElementsAre(false, false));
  EXPECT_THAT(Wraps("v5p-4x4x8"), ElementsAre(true, true, true));
  EXPECT_THAT(Wraps("v4-2x2x4"), ElementsAre(false, false, false));
  EXPECT_THAT(Wraps("v4-2x2x1"), ElementsAre(false, false, false));
  EXPECT_THAT(Wraps("v3-32x32"), ElementsAre(true, true));
}

TEST(MachineTest, BadNamesSayWhatWouldBeRight) {
  EXPECT_EQ(Refusal("h10-8"), "there is no hardware 'h10'; did you mean 'h100'?");
  EXPECT_THAT(Refusal("cray"), HasSubstr("there is v100, a100, h100"));
  EXPECT_THAT(Refusal("h100-8y2"), HasSubstr("'8y2' in 'h100-8y2' is no size; write h100-8"));
  EXPECT_THAT(Refusal("h100-0"), HasSubstr("'0' in 'h100-0' is no size"));
  EXPECT_EQ(Refusal("h100-16"), "a node of h100 has 8 devices, not 16; for more write h100-8x2");
  // What is advised is valid: of nodes that are joined, and no more than there may be.
  EXPECT_EQ(Refusal("h100-16x3"), "a node of h100 has 8 devices, not 16; for more write h100-8x6");
  for (const char* name : {"h100-99999999999", "h100-16x9223372036854775807"}) {
    EXPECT_THAT(Refusal(name), testing::EndsWith("; the largest machine is h100-8x2097152"));
  }
  EXPECT_TRUE(MachineNamed("h100-8x2097152", Catalogue::BuiltIn()).ok());
  for (const Hardware& hardware : Catalogue::BuiltIn().all()) {
    if (hardware.fabric == Fabric::kTorus) continue;
    const std::string why = Refusal(fmt::format("{}-{}", hardware.name, hardware.node_size + 1));
    const std::string joined = fmt::format("{}-{}x2", hardware.name, hardware.node_size);
    EXPECT_THAT(why,
                testing::HasSubstr(MachineNamed(joined, Catalogue::BuiltIn()).ok()
                                       ? "; for more write " + joined
                                       : fmt::format("; give 1 to {}, as", hardware.node_size)));
  }
  EXPECT_EQ(Refusal("v5e-32x4"), "an axis of 32 is too long for v5e; at most 16");
  EXPECT_THAT(Refusal("v5e"), HasSubstr("v5e is a torus of up to 2 axes; write for example"));
  EXPECT_THAT(Refusal("v5e-2x2x2"), HasSubstr("v5e is a torus of up to 2 axes"));
  EXPECT_THAT(Refusal("nvlink1-8x2"), HasSubstr("the catalogue has no nics of nvlink1"));
}

Result<Machine> Read(const std::string& text) {
  return ParseMachine(text, "my.toml", Catalogue::BuiltIn());
}

TEST(MachineTest, AFileChangesAKnownMachine) {
  const Result<Machine> m = Read(
      "[machine]\non = \"h100-8x4\"\nlink_bandwidth = \"370 GB/s\"\nleaf_nodes = 2\n"
      "oversubscription = 2.0\n");
  ASSERT_TRUE(m.ok()) << m.status().ToString();
  EXPECT_EQ(m->topology.definition().link.bandwidth.value(), 370e9);
  EXPECT_EQ(m->topology.definition().leaf_nodes, 2);
  EXPECT_EQ(m->hardware.name, "h100");
}

TEST(MachineTest, AFileDescribesOneOfItsOwn) {
  const Result<Machine> m = Read(
      "[machine]\nfabric = \"torus\"\naxes = [8, 4]\nwraps = [true, false]\n"
      "link_bandwidth = \"10 Gbit/s\"\nlink_latency = \"2 us\"\n");
  ASSERT_TRUE(m.ok()) << m.status().ToString();
  EXPECT_EQ(m->topology.ToString(),
            "torus 8 (wraps) x 4 (no wrap), 1.25 GB/s per direction and 2 us a link");
}

TEST(MachineTest, TextReadsBackAsTheSameMachine) {
  for (const char* name : {"h100-8x4", "v5e-8x16", "mi300x-8", "a100-1"}) {
    Machine m = Named(name);
    FittedCurve fit;
    fit.op = "all_reduce";
    fit.ranks = m.topology.device_count();
    fit.latency = {1.25e-5, 1e-5, 1.5e-5};
    fit.inverse = {1.0 / 3e11, 1.0 / 4e11, 1.0 / 2e11};
    fit.points = 12;  // and how sure the saturation is, is not known
    fit.error_fitted = 0.07;
    m.fits.push_back(fit);
    fit.op = "all_gather";
    fit.error_held_out = 0.08;
    m.fits.push_back(fit);
    const Result<Machine> again = Read(MachineText(m, "measured\non a test"));
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    EXPECT_EQ(again->topology, m.topology) << name;
    EXPECT_EQ(again->fits, m.fits) << name;
  }
}

TEST(MachineTest, BadFilesSayTheLineAndWhatWouldBeRight) {
  EXPECT_EQ(Read("[machine]\non = \"h10\"").status().message(),
            "my.toml:2: 'on': there is no hardware 'h10'; did you mean 'h100'?");
  EXPECT_EQ(
      Read("[machine]\non = \"h100\"\nlink_bandwith = \"1 GB/s\"").status().message(),
      "my.toml:3: key 'link_bandwith' in [machine] is unknown; did you mean 'link_bandwidth'?");
  EXPECT_THAT(Read("[machine]\non = \"h100\"\nlink_bandwidth = \"450 GB\"").status().message(),
              HasSubstr("my.toml:3: key 'link_bandwidth' in [machine] is wrong: '450 GB' has the "
                        "unit 'GB'"));
  EXPECT_EQ(
      Read("[machine]\non = \"v5e-8x4\"\naxes = [8, 4]\nwraps = [true, false]").status().message(),
      "my.toml:4: key 'wraps' in [machine] is wrong: an axis of 8 on v5e does not wrap; only an "
      "axis of "
      "16 does");
  EXPECT_EQ(
      Read("[machine]\nfabric = \"torus\"\naxes = [2, 8]\nwraps = [true, true]").status().message(),
      "my.toml:4: key 'wraps' in [machine] is wrong: an axis of 2 cannot wrap: it has no way "
      "round; 3 or "
      "more devices have");
  const std::string fit = "[machine]\non = \"host-2\"\n[[fit]]\noperation = \"scan\"\nranks = 2\n";
  for (const char* latency : {"[nan, 0, 1]", "[1, 0, inf]", "[1, 2, 3]", "[-1, -2, 3]", "[1, 2]",
                              "[nan]", "[-1]", "[inf]"}) {
    EXPECT_THAT(Read(fit + "latency_s = " + latency).status().message(),
                HasSubstr("my.toml:6: key 'latency_s' in [[fit]] must be [value, low, high]"))
        << latency;
  }
  EXPECT_THAT(Read(fit + "error_fitted = nan").status().message(),
              HasSubstr("my.toml:6: key 'error_fitted' in [[fit]] is nan; it must be a number"));
  EXPECT_THAT(Read(fit + "error_held_out = -1.0").status().message(),
              HasSubstr("key 'error_held_out' in [[fit]] is -1; it must be a number from 0"));
  EXPECT_EQ(Read(fit + "least_bytes = 5\nmost_bytes = 4").status().message(),
            "my.toml:3: [[fit]] has no points; write how many measurements were fitted");
  const std::string points = fit + "points = 3\n";
  // A second curve of the same question would say nothing.
  const auto one = [](const std::string& op, int ranks) {
    return fmt::format("[[fit]]\noperation = \"{}\"\nranks = {}\npoints = 3\nlatency_s = [1]\n", op,
                       ranks);
  };
  const std::string curves = "[machine]\non = \"host-4\"\n" + one("scan", 2) + one("scan", 4);
  EXPECT_TRUE(Read(curves + one("exscan", 2)).ok());
  EXPECT_EQ(Read(curves + one("scan", 2)).status().message(),
            "my.toml:13: [[fit]] is a second one of scan over 2 ranks on 1 node; write one, or "
            "chorus calibrate all logs together");
  const std::string with_roots =
      curves + one("reduce", 4) + "root = 0\n" + one("reduce", 4) + "root = 3\n";
  ASSERT_TRUE(Read(with_roots).ok()) << Read(with_roots).status().message();
  EXPECT_EQ(Read(with_roots)->fits.back().root, 3);
  EXPECT_EQ(Read(MachineText(*Read(with_roots), ""))->fits, Read(with_roots)->fits);
  EXPECT_EQ(Read(curves + one("reduce", 4) + "root = 4\n").status().message(),
            "my.toml:18: [[fit]] has root 4 of 4 ranks; write 0 to 3");
  EXPECT_EQ(Read(points + "root = 0").status().message(),
            "my.toml:7: [[fit]] has a root, and scan has none; leave it out");
  EXPECT_EQ(Read(points + "least_bytes = 5\nmost_bytes = 4").status().message(),
            "my.toml:7: [[fit]] has least_bytes 5 above most_bytes 4");
  EXPECT_THAT(Read(points).status().message(), HasSubstr("[[fit]] has no time; write latency_s"));
  EXPECT_TRUE(Read(points + "latency_s = [1e-6]").ok());
  EXPECT_EQ(Read("[machine]\non = \"host-2\"\n[[fit]]\noperation = \"scna\"").status().message(),
            "my.toml:4: [[fit]] has the operation 'scna'; did you mean 'scan'?");
  EXPECT_EQ(Read("[machine]\non = \"host-2\"\n[[fit]]\noperation = \"scan\"\nranks = 3")
                .status()
                .message(),
            "my.toml:5: [[fit]] has 3 ranks; the machine has 2 devices");
  EXPECT_THAT(Read("").status().message(), HasSubstr("there is no [machine]"));
  EXPECT_THAT(Read("[machine").status().message(), HasSubstr("my.toml:1: "));
  EXPECT_THAT(Read("[machine]\nfabric = \"switch\"\nnode = 0").status().message(),
              HasSubstr("is 0; it must be a whole number from 1"));
  EXPECT_EQ(Read("[hardware.x]").status().message(),
            "my.toml: this is a catalogue; give it to --catalogue, and --on a name in it");
}

// Whatever does not say anything about the machine is refused with its line.
TEST(MachineTest, EveryKeyOfAFileSaysSomething) {
  const auto why = [](const std::string& keys) {
    return Read("[machine]\n" + keys).status().message();
  };
  EXPECT_EQ(why(""),
            "my.toml:1: [machine] has no fabric; write on = \"h100-8\" to begin with a known "
            "machine, or fabric = \"switch\", node = 8, link_bandwidth = \"450 GB/s\" and "
            "link_latency = \"1 us\"");
  const std::string four = "fabric = \"mesh\"\nnode = 4\nlink_bandwidth = \"1 GB/s\"\n";
  EXPECT_EQ(
      why(four),
      "my.toml:1: [machine] has 4 devices in a node and no link_latency; write link_latency = "
      "\"1 us\", or \"0 s\" if it is to be none");
  EXPECT_EQ(why(four + "link_latency = \"0 s\"\n"), "");
  EXPECT_THAT(why(four + "link_latency = \"0 s\"\nnodes = 2\nnic_bandwidth = \"1 GB/s\"\n"),
              HasSubstr("has 2 nodes and no nic_latency; write nic_latency"));
  EXPECT_THAT(why("fabric = \"switch\""), HasSubstr("my.toml:1: [machine] has no node; write on"));
  EXPECT_THAT(why("fabric = \"torus\""), HasSubstr("my.toml:1: [machine] has no axes; write on"));
  EXPECT_EQ(
      why("on = \"h100-8x4\"\noversubscription = 2.0"),
      "my.toml:3: key 'oversubscription' in [machine] is of leaf switches; write leaf_nodes = "
      "4, the nodes below each, as well");
  EXPECT_EQ(
      why("on = \"h100-8\"\nnics = 4"),
      "my.toml:3: key 'nics' in [machine] is of what joins nodes, and there is one node; write "
      "nodes = 2");
  EXPECT_EQ(
      why("on = \"v5e-8x4\"\nnode = 4"),
      "my.toml:3: key 'node' in [machine] is of a switch or mesh; a torus has axes, as [8, 4]");
  EXPECT_THAT(why("on = \"h100-8\"\naxes = [2, 4]"),
              HasSubstr("'axes' in [machine] is of a torus"));
  EXPECT_THAT(why("on = \"h100-8\"\nwraps = [true]"), HasSubstr("'wraps' in [machine] is of a"));
  EXPECT_THAT(why("on = \"mi300x\"\nreduces = true"), HasSubstr("is of a switch"));
  EXPECT_THAT(why("on = \"h100-8x4\"\nleaf_nodes = 2\noversubscription = 0.5"),
              HasSubstr("is 0.5; it must be a number from 1 to 1000000"));
  EXPECT_THAT(why("on = \"v5e-8x4\"\naxes = [8, 4]\nwraps = [1, 0]"),
              HasSubstr("must say true or false for each axis"));
  EXPECT_THAT(why("fabric = \"torus\"\naxes = [16000000, 16000000]"),
              HasSubstr("make more than 16777216 devices"));
  EXPECT_THAT(why("on = \"h100\"\nname = \"\""), HasSubstr("has nothing in name"));
  EXPECT_EQ(why("fabric = \"switch\"\nnode = 8\nlink_latency = \"1 us\""),
            "my.toml:1: [machine] has 8 devices in a node and no link_bandwidth; write "
            "link_bandwidth = \"450 GB/s\", per direction");
  EXPECT_EQ(why("on = \"v5e-4x4\"\nnodes = 2"),
            "my.toml:1: [machine] has 2 nodes and no nic_bandwidth; write nic_bandwidth = \"450 "
            "GB/s\", per direction");
  EXPECT_EQ(why("on = \"h100-8\"\n\nlink_bandwidth = \"0 GB/s\""),
            "my.toml:4: key 'link_bandwidth' in [machine] is 0; give a number above 0, per "
            "direction");
  EXPECT_EQ(why("on = \"h100-8x4\"\noversubscription = 2.0\nleaf_nodes = 4"),
            "my.toml:4: key 'leaf_nodes' in [machine] is 4 of 4 nodes: all are below one leaf "
            "switch, from which nothing goes up; write fewer, or leave it out");
  EXPECT_EQ(why("on = \"h100-8x4\"\noversubscription = 2.0\nleaf_nodes = 3"),
            "my.toml:4: key 'leaf_nodes' in [machine] is 3, which does not divide 4 nodes; write a "
            "divisor of 4, or 0 for one switch that never blocks");
  EXPECT_EQ(why("on = \"h100-8x4\"\nnics = 9"),
            "my.toml:3: key 'nics' in [machine] is 9 for 8 devices in a node; write 1 to 8");
  EXPECT_EQ(why("on = \"h100-8\"\nfabric = \"torus\""),
            "my.toml:3: key 'fabric' in [machine] is torus; write the sizes of its axes as well, "
            "as axes = [8, 4]");
  EXPECT_EQ(why("fabric = \"switch\"\nnode = 1\nnodes = 4\nlink_latency = \"1 us\""),
            "my.toml:5: key 'link_latency' in [machine] is of what joins the devices of a node, "
            "and a node has one; write nic_latency");
  EXPECT_EQ(
      Read("machine = 3").status().message(),
      "my.toml:1: 'machine' is a whole number, not a section; write [machine] above its keys");
}

// Nodes that a file adds are joined by the ports of the hardware, and the machine is called as the
// file.
TEST(MachineTest, AFileMayAddNodes) {
  const Result<Machine> four = Read("[machine]\non = \"h100-8\"\nnodes = 4");
  ASSERT_TRUE(four.ok()) << four.status().message();
  EXPECT_EQ(four->topology, Named("h100-8x4").topology);
  EXPECT_EQ(four->name, "my.toml");
  const Result<Machine> halves = Read("[machine]\non = \"h100-8x4\"\nnode = 4");
  ASSERT_TRUE(halves.ok()) << halves.status().message();
  EXPECT_EQ(halves->topology, Named("h100-4x4").topology);
  const Result<Machine> again = Read(MachineText(*four, ""));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->topology, four->topology);
  EXPECT_EQ(again->hardware, four->hardware);
  EXPECT_EQ(again->name, four->name);
}

// An axis of two devices has one link, whatever the product: it wraps neither by default nor if it
// is told to.
TEST(MachineTest, AnAxisOfTwoNeverWraps) {
  const std::string torus =
      "[machine]\nfabric = \"torus\"\naxes = [2, 4]\nlink_bandwidth = \"1 GB/s\"\n"
      "link_latency = \"1 us\"\n";
  const Result<Machine> machine = Read(torus);
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  EXPECT_THAT(WrapsOf(*machine), ElementsAre(false, true));
  EXPECT_EQ(Read(MachineText(*machine, ""))->topology, machine->topology);
  EXPECT_THAT(Read(torus + "wraps = [true, true]").status().message(),
              HasSubstr("an axis of 2 cannot wrap: it has no way round; 3 or more devices have"));
  Topology::Definition d = machine->topology.definition();
  d.axes[0].wraps = true;
  EXPECT_EQ(Topology::Make(d).status().message(),
            "a torus axis of 2 devices wraps; only those of 3 or more do");
}

// What is known of the hardware is not lost by measuring it.
TEST(MachineTest, TextKeepsTheHardware) {
  Machine m = Named("a100-2");
  Topology::Definition d = m.topology.definition();
  d.link.bandwidth = BytesPerSecond(200e9);
  m.topology = *Topology::Make(d);
  const Result<Machine> again = Read(MachineText(m, "line\nwith a bell \a and \xff"));
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->hardware, m.hardware);
  EXPECT_EQ(again->topology, m.topology);
  EXPECT_EQ(again->name, "a100-2");
  m.name = "my \"own\" \\ machine";
  EXPECT_EQ(Read(MachineText(m, ""))->name, m.name);
}

}  // namespace
}  // namespace chorus
