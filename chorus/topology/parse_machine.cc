// Machine files: reading [machine] and [[fit]].
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "chorus/base/counted.h"
#include "chorus/base/nearest.h"
#include "chorus/base/op_kind.h"
#include "chorus/base/rate.h"
#include "chorus/base/toml_table.h"
#include "chorus/topology/machine.h"

namespace chorus {
namespace {

constexpr std::int64_t kLargestInFile = std::int64_t{1} << 24;
constexpr double kMostOversubscribed = 1e6;
constexpr double kMostError = 1e300;

// "450 GB/s" or "1 us", by `parse`.
template <typename Quantity>
void ReadQuantity(TomlTable& reader, const std::string& key, Quantity& value,
                  Result<Quantity> (*parse)(std::string_view)) {
  std::string text;
  reader.Read(key, text);
  const toml::node* node = reader.Find(key);
  if (node == nullptr || !node->is_string()) return;
  const Result<Quantity> read = parse(text);
  if (!read.ok()) return reader.Refuse(*node, key, "is wrong: " + read.status().message());
  value = *read;
}

void ReadLink(TomlTable& reader, const std::string& what, LinkSpec& link) {
  const std::string key = what + "_bandwidth";
  ReadQuantity(reader, key, link.bandwidth, ParseBandwidth);
  if (const toml::node* node = reader.Find(key); node != nullptr && link.bandwidth.value() <= 0) {
    reader.Refuse(*node, key, "is 0; give a number above 0, per direction");
  }
  ReadQuantity(reader, what + "_latency", link.latency, ParseSeconds);
}

void ReadAxes(TomlTable& reader, const Hardware& hardware, Topology::Definition& d) {
  const toml::node* axes = reader.Find("axes");
  const toml::node* wraps = reader.Find("wraps");
  if (axes == nullptr) {
    if (wraps != nullptr) reader.Refuse(*wraps, "wraps", "needs axes = [...]");
    return;
  }
  std::vector<std::int64_t> sizes;
  if (const toml::array* list = axes->as_array(); list != nullptr) {
    for (const toml::node& size : *list) sizes.push_back(size.value_or(std::int64_t{0}));
  }
  const auto wrong = [](std::int64_t size) { return size < 1 || size > kLargestInFile; };
  if (sizes.empty() || sizes.size() > 3 || std::any_of(sizes.begin(), sizes.end(), wrong)) {
    return reader.Refuse(*axes, "axes", "must be a list of 1 to 3 sizes, as [8, 4]");
  }
  d.axes = SliceAxes(hardware, sizes);
  d.node_size = 1;
  for (std::int64_t size : sizes) {
    if (size > kLargestInFile / d.node_size) {
      return reader.Refuse(*axes, "axes", fmt::format("make more than {} devices", kLargestInFile));
    }
    d.node_size *= size;
  }
  if (wraps == nullptr) return;
  const toml::array* list = wraps->as_array();
  if (list == nullptr || list->size() != sizes.size() || !list->is_homogeneous<bool>()) {
    return reader.Refuse(*wraps, "wraps", "must say true or false for each axis");
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool wanted = (*list)[i].value_or(false);
    if (wanted && !d.axes[i].wraps) {
      return reader.Refuse(*wraps, "wraps", "is wrong: " + WhyNoWrap(hardware, sizes[i]));
    }
    d.axes[i].wraps = wanted;
  }
}

// Keys that say nothing about the machine that the others describe are slips, and refused.
void RefuseIdle(TomlTable& reader, const Topology::Definition& d) {
  const auto refuse = [&](bool idle, const char* key, std::string_view why) {
    const toml::node* node = reader.Find(key);
    if (idle && node != nullptr) reader.Refuse(*node, key, why);
  };
  const bool torus = d.fabric == Fabric::kTorus;
  refuse(torus, "node", "is of a switch or mesh; a torus has axes, as [8, 4]");
  for (const char* key : {"axes", "wraps"}) {
    refuse(!torus, key, "is of a torus; write fabric = \"torus\", or node = 8 instead");
  }
  refuse(d.fabric == Fabric::kTorus && d.axes.empty(), "fabric",
         "is torus; write the sizes of its axes as well, as axes = [8, 4]");
  refuse(d.switch_reduces && d.fabric != Fabric::kSwitch, "reduces",
         "is of a switch; others do not add up");
  for (const char* key : {"link_bandwidth", "link_latency"}) {
    refuse(d.node_size == 1, key,
           fmt::format("is of what joins the devices of a node, and a node has one; {}",
                       d.nodes > 1 ? fmt::format("write nic{}", key + 4) : "leave it out"));
  }
  for (const char* key :
       {"nics", "nic_bandwidth", "nic_latency", "leaf_nodes", "network_reduces"}) {
    refuse(d.nodes == 1, key, "is of what joins nodes, and there is one node; write nodes = 2");
  }
  refuse(
      d.leaf_nodes > 0 && d.leaf_nodes >= d.nodes, "leaf_nodes",
      fmt::format("is {} of {}: all are below one leaf switch, from which nothing goes up; write "
                  "fewer, or leave it out",
                  d.leaf_nodes, Counted(d.nodes, "node")));
  refuse(d.leaf_nodes == 0, "oversubscription",
         "is of leaf switches; write leaf_nodes = 4, the nodes below each, as well");
}

// What joins nodes, as the hardware has it, for what the file does not say.
void TakePorts(const Hardware& hardware, Topology::Definition& d) {
  if (d.nodes == 1) return;
  if (d.nic.bandwidth.value() <= 0) {
    d.nic = {Seconds(hardware.ValueOr("nic_latency", 0)),
             BytesPerSecond(hardware.ValueOr("nic_bandwidth", 0))};
  }
  if (const Figure* nics = hardware.Find("nics"); nics != nullptr && d.fabric != Fabric::kTorus) {
    d.nics = NicsOf(hardware, static_cast<std::int64_t>(nics->value), d.node_size);
  }
}

// What does not go together is refused where it is written.
void RefuseWrongCounts(TomlTable& reader, const Topology::Definition& d) {
  const auto refuse = [&](bool wrong, const char* key, const std::string& what) {
    const toml::node* node = reader.Find(key);
    if (wrong && node != nullptr) reader.Refuse(*node, key, what);
  };
  refuse(d.nics > d.node_size, "nics",
         fmt::format("is {} for {} in a node; write 1 to {}", d.nics,
                     Counted(d.node_size, "device"), d.node_size));
  refuse(d.leaf_nodes > 0 && d.nodes % d.leaf_nodes != 0, "leaf_nodes",
         fmt::format("is {}, which does not divide {} nodes; write a divisor of {}, or 0 for one "
                     "switch that never blocks",
                     d.leaf_nodes, d.nodes, d.nodes));
  for (const char* key : {"nodes", "node"}) {
    refuse(d.node_size > kLargestInFile / d.nodes, key,
           fmt::format("makes more than {} devices", kLargestInFile));
  }
}

void ReadTopology(TomlTable& reader, const Hardware& hardware, Topology::Definition& d) {
  std::string fabric(Name(d.fabric));
  reader.Read("fabric", fabric);
  if (fabric == "torus" || fabric == "mesh" || fabric == "switch") {
    d.fabric = fabric == "torus"  ? Fabric::kTorus
               : fabric == "mesh" ? Fabric::kMesh
                                  : Fabric::kSwitch;
    if (d.fabric != Fabric::kTorus) d.axes.clear();
  } else {
    reader.Refuse(*reader.Find("fabric"), "fabric",
                  fmt::format("is \"{}\"; it must be switch, mesh or torus", fabric));
  }
  reader.Read("node", d.node_size, 1, kLargestInFile);
  if (d.fabric == Fabric::kTorus) ReadAxes(reader, hardware, d);
  reader.Read("reduces", d.switch_reduces);
  ReadLink(reader, "link", d.link);
  reader.Read("nodes", d.nodes, 1, kLargestInFile);
  TakePorts(hardware, d);
  reader.Read("nics", d.nics, 1, kLargestInFile);
  ReadLink(reader, "nic", d.nic);
  reader.Read("leaf_nodes", d.leaf_nodes, 0, kLargestInFile);
  reader.Read("oversubscription", d.oversubscription, 1, kMostOversubscribed);
  reader.Read("network_reduces", d.network_reduces);
  RefuseIdle(reader, d);
  RefuseWrongCounts(reader, d);
}

// What a machine is described by, where it is not like a known one.
Status CheckDescribed(const toml::table& section) {
  const bool torus = section["fabric"].value_or(std::string_view()) == "torus";
  for (const char* key : {"fabric", torus ? "axes" : "node"}) {
    if (section.contains(key)) continue;
    return InvalidArgument(fmt::format(
        "{}: [machine] has no {}; write on = \"h100-8\" to begin with a known machine, "
        "or fabric = \"switch\", node = 8, link_bandwidth = \"450 GB/s\" and link_latency = "
        "\"1 us\"",
        TomlPlace(section), key));
  }
  return OkStatus();
}

// The figures of a link that neither the file nor the hardware has. A latency of none is said, not
// taken for granted.
Status CheckLinkFigures(const toml::table& section, const Hardware& hardware, std::string_view what,
                        std::string_view where) {
  for (const auto& [figure, example] :
       {std::pair("bandwidth", "\"450 GB/s\", per direction"),
        std::pair("latency", "\"1 us\", or \"0 s\" if it is to be none")}) {
    const std::string key = fmt::format("{}_{}", what, figure);
    if (section.contains(key) || hardware.Find(key) != nullptr) continue;
    return InvalidArgument(fmt::format("{}: [machine] has {} and no {}; write {} = {}",
                                       TomlPlace(section), where, key, key, example));
  }
  return OkStatus();
}

Status CheckFigures(const toml::table& section, const Hardware& hardware,
                    const Topology::Definition& d) {
  if (d.node_size > 1) {
    CHORUS_RETURN_IF_ERROR(
        CheckLinkFigures(section, hardware, "link", Counted(d.node_size, "device") + " in a node"));
  }
  if (d.nodes == 1) return OkStatus();
  return CheckLinkFigures(section, hardware, "nic", Counted(d.nodes, "node"));
}

void ReadMeasured(TomlTable& reader, const std::string& key, Measured& value) {
  const toml::node* node = reader.Find(key);
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  if (list == nullptr || (list->size() != 1 && list->size() != 3)) {
    return reader.Refuse(*node, key, "must be [value, low, high], or [value] if no more is known");
  }
  const auto number = [&](std::size_t i) { return (*list)[i].value_or(-1.0); };
  value = list->size() == 1 ? Measured{number(0), 0, number(0)}
                            : Measured{number(0), number(1), number(2)};
  // Written so that NaN is refused too.
  const bool ordered = value.low >= 0 && value.low <= value.value && value.value <= value.high;
  const bool finite = std::isfinite(value.high);
  if (list->size() == 1) value.high = std::numeric_limits<double>::infinity();
  if (ordered && finite) return;
  reader.Refuse(*node, key, "must be [value, low, high] with 0 <= low <= value <= high");
}

// Why a curve says nothing about the machine, and the key that says so; empty if it does.
struct Idle {
  const char* key;
  std::string why;
};

std::optional<Idle> WhyIdle(const FittedCurve& fit, const Topology::Definition& d) {
  if (!ParseOpKind(fit.op)) {
    std::vector<std::string> known;
    for (const OpKind op : kAllOpKinds) known.emplace_back(Name(op));
    return Idle{"operation",
                fmt::format("has the operation '{}'; {}", fit.op, NearestAdvice(fit.op, known))};
  }
  const std::int64_t devices = d.nodes * d.node_size;
  if (fit.ranks < 1 || fit.ranks > devices) {
    return Idle{"ranks", fmt::format("has {}; the machine has {}", Counted(fit.ranks, "rank"),
                                     Counted(devices, "device"))};
  }
  const bool has_root = HasRoot(*ParseOpKind(fit.op));
  if (fit.root >= 0 && !has_root) {
    return Idle{"root", fmt::format("has a root, and {} has none; leave it out", fit.op)};
  }
  if (fit.root >= fit.ranks) {
    return Idle{"root", fmt::format("has root {} of {}; write 0 to {}", fit.root,
                                    Counted(fit.ranks, "rank"), fit.ranks - 1)};
  }
  if (fit.nodes > d.nodes) {
    return Idle{"nodes",
                fmt::format("has {}; the machine has {}", Counted(fit.nodes, "node"), d.nodes)};
  }
  if (fit.points < 1) {
    return Idle{"points", "has no points; write how many measurements were fitted"};
  }
  if (fit.least_bytes > fit.most_bytes) {
    return Idle{"least_bytes", fmt::format("has least_bytes {} above most_bytes {}",
                                           fit.least_bytes, fit.most_bytes)};
  }
  if (fit.latency.value + fit.saturation.value + fit.inverse.value > 0) return std::nullopt;
  return Idle{"latency_s",
              "has no time; write latency_s, saturation_s_per_sqrt_byte, "
              "inverse_bandwidth_s_per_byte"};
}

Result<FittedCurve> ReadFit(const toml::table& table, const Topology::Definition& d) {
  FittedCurve fit;
  TomlTable reader(table, "[[fit]]");
  reader.ReadNeeded("operation", fit.op, "all_reduce");
  reader.Read("ranks", fit.ranks, 1, kMostMeasuredRanks);
  reader.Read("nodes", fit.nodes, 1, kMostMeasuredRanks);
  reader.Read("root", fit.root, 0, kMostMeasuredRanks);
  ReadMeasured(reader, "latency_s", fit.latency);
  ReadMeasured(reader, "saturation_s_per_sqrt_byte", fit.saturation);
  ReadMeasured(reader, "inverse_bandwidth_s_per_byte", fit.inverse);
  reader.Read("least_bytes", fit.least_bytes, 0, kMostMeasuredBytes);
  reader.Read("most_bytes", fit.most_bytes, 0, kMostMeasuredBytes);
  reader.Read("points", fit.points, 1, kMostMeasuredBytes);
  reader.Read("error_fitted", fit.error_fitted, 0, kMostError);
  double held_out = 0;
  reader.Read("error_held_out", held_out, 0, kMostError);
  CHORUS_RETURN_IF_ERROR(reader.Finish());
  if (table.contains("error_held_out")) fit.error_held_out = held_out;
  const std::optional<Idle> idle = WhyIdle(fit, d);
  if (!idle) return fit;
  const toml::node* node = table.get(idle->key);
  return InvalidArgument(
      fmt::format("{}: [[fit]] {}", TomlPlace(node == nullptr ? table : *node), idle->why));
}

// Of two curves of one question the second would say nothing.
Status CheckOnlyOne(const FittedCurve& curve, const std::vector<FittedCurve>& before,
                    const toml::table& table) {
  const auto same = [&](const FittedCurve& other) {
    return other.op == curve.op && other.ranks == curve.ranks && other.nodes == curve.nodes &&
           other.root == curve.root;
  };
  if (std::none_of(before.begin(), before.end(), same)) return OkStatus();
  return InvalidArgument(fmt::format(
      "{}: [[fit]] is a second one of {} over {} on {}; write one, or chorus calibrate all logs "
      "together",
      TomlPlace(table), curve.op, Counted(curve.ranks, "rank"), Counted(curve.nodes, "node")));
}

}  // namespace

Result<Machine> ParseMachine(std::string_view text, const std::string& origin,
                             const Catalogue& catalogue) {
  CHORUS_ASSIGN_OR_RETURN(const toml::table document, ParseTomlText(text, origin));
  if (document.contains("hardware") && !document.contains("machine")) {
    return InvalidArgument(origin +
                           ": this is a catalogue; give it to --catalogue, and --on a name in it");
  }
  TomlTable top(document, origin);
  const toml::node* section = top.Find("machine");
  const std::vector<const toml::table*> fits = top.Rows("fit", "fit");
  CHORUS_RETURN_IF_ERROR(top.Finish());
  if (section == nullptr) {
    return InvalidArgument(origin +
                           ": there is no [machine]; begin with [machine] and on = "
                           "\"h100-8\", or fabric, node, link_bandwidth and link_latency");
  }
  TomlTable reader = TomlTable::Section(document, "machine");
  CHORUS_RETURN_IF_ERROR(reader.FirstError());
  std::string on;
  reader.Read("on", on);
  Hardware hardware;
  hardware.name = origin;
  Topology::Definition d;
  if (const toml::node* node = reader.Find("on"); node != nullptr && node->is_string()) {
    Result<Machine> like = MachineNamed(on, catalogue);
    if (!like.ok()) return like.status().WithContext(TomlPlace(*node) + ": 'on'");
    hardware = like->hardware;
    d = like->topology.definition();
  } else if (node == nullptr) {
    CHORUS_RETURN_IF_ERROR(CheckDescribed(*section->as_table()));
  }
  const Topology::Definition named = d;
  std::string name = on;
  if (section->as_table()->contains("name")) reader.ReadNeeded("name", name, "my-machine");
  ReadTopology(reader, hardware, d);
  CHORUS_RETURN_IF_ERROR(reader.Finish());
  // What has other devices than its name says is called as the file.
  const bool as_named = d.nodes == named.nodes && d.node_size == named.node_size;
  if (name.empty() || (name == on && !as_named)) name = origin;
  CHORUS_RETURN_IF_ERROR(CheckFigures(*section->as_table(), hardware, d));
  Result<Topology> topology = Topology::Make(std::move(d));
  if (!topology.ok()) return topology.status().WithContext(TomlPlace(*section) + ": [machine]");
  Machine machine{name, *std::move(topology), std::move(hardware), {}, origin};
  for (const toml::table* fit : fits) {
    CHORUS_ASSIGN_OR_RETURN(FittedCurve curve, ReadFit(*fit, machine.topology.definition()));
    CHORUS_RETURN_IF_ERROR(CheckOnlyOne(curve, machine.fits, *fit));
    machine.fits.push_back(std::move(curve));
  }
  return machine;
}

}  // namespace chorus
