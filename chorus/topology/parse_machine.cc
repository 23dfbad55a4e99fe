// Machine files: [machine] and [[fit]].
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chorus/base/rate.h"
#include "chorus/topology/machine.h"
#include "chorus/topology/toml_table.h"

namespace chorus {
namespace {

constexpr std::int64_t kLargestInFile = std::int64_t{1} << 24;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

void ReadBandwidth(TomlTable& reader, const std::string& key, BytesPerSecond& value) {
  const toml::node* node = reader.Find(key);
  if (node == nullptr) return;
  if (!node->is_string()) return reader.Refuse(key, *node, "it must be text, as \"450 GB/s\"");
  const Result<BytesPerSecond> read = ParseBandwidth(node->as_string()->get());
  if (!read.ok()) return reader.Refuse(key, *node, read.status().message());
  value = *read;
}

void ReadSeconds(TomlTable& reader, const std::string& key, Seconds& value) {
  const toml::node* node = reader.Find(key);
  if (node == nullptr) return;
  if (!node->is_string()) return reader.Refuse(key, *node, "it must be text, as \"1 us\"");
  const Result<Seconds> read = ParseSeconds(node->as_string()->get());
  if (!read.ok()) return reader.Refuse(key, *node, read.status().message());
  value = *read;
}

void ReadAxes(TomlTable& reader, const Hardware& hardware, Topology::Definition& d) {
  const toml::node* axes = reader.Find("axes");
  const toml::node* wraps = reader.Find("wraps");
  if (axes == nullptr) {
    if (wraps != nullptr) reader.Refuse("wraps", *wraps, "it needs axes = [...]");
    return;
  }
  std::vector<std::int64_t> sizes;
  if (const toml::array* list = axes->as_array(); list != nullptr) {
    for (const toml::node& size : *list) sizes.push_back(size.value_or(std::int64_t{0}));
  }
  const auto wrong = [](std::int64_t size) { return size < 1 || size > kLargestInFile; };
  if (sizes.empty() || sizes.size() > 3 || std::any_of(sizes.begin(), sizes.end(), wrong)) {
    return reader.Refuse("axes", *axes, "it must be a list of 1 to 3 sizes, as [8, 4]");
  }
  d.axes = SliceAxes(hardware, sizes);
  d.node_size = 1;
  for (std::int64_t size : sizes) d.node_size *= size;
  if (wraps == nullptr) return;
  const toml::array* list = wraps->as_array();
  if (list == nullptr || list->size() != sizes.size()) {
    return reader.Refuse("wraps", *wraps, "it must say true or false for each axis");
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool wanted = (*list)[i].value_or(false);
    if (wanted && sizes[i] < 3) {
      return reader.Refuse("wraps", *wraps,
                           fmt::format("an axis of {} cannot wrap: it has no way round; 3 or more "
                                       "devices have",
                                       sizes[i]));
    }
    if (wanted && !d.axes[i].wraps) {
      return reader.Refuse("wraps", *wraps, WhyNoWrap(hardware, sizes[i]));
    }
    d.axes[i].wraps = wanted;
  }
}

void ReadTopology(TomlTable& reader, const Hardware& hardware, Topology::Definition& d) {
  std::string fabric(Name(d.fabric));
  reader.Read("fabric", fabric);
  if (fabric == "torus" || fabric == "mesh" || fabric == "switch") {
    d.fabric = fabric == "torus"  ? Fabric::kTorus
               : fabric == "mesh" ? Fabric::kMesh
                                  : Fabric::kSwitch;
  } else {
    reader.Refuse("fabric", *reader.Find("fabric"), "it must be switch, mesh or torus");
  }
  reader.Read("node", d.node_size, 1, kLargestInFile);
  ReadAxes(reader, hardware, d);
  reader.Read("reduces", d.switch_reduces);
  ReadBandwidth(reader, "link_bandwidth", d.link.bandwidth);
  ReadSeconds(reader, "link_latency", d.link.latency);
  reader.Read("nodes", d.nodes, 1, kLargestInFile);
  reader.Read("nics", d.nics, 1, kLargestInFile);
  ReadBandwidth(reader, "nic_bandwidth", d.nic.bandwidth);
  ReadSeconds(reader, "nic_latency", d.nic.latency);
  reader.Read("leaf_nodes", d.leaf_nodes, 0, kLargestInFile);
  reader.Read("oversubscription", d.oversubscription);
}

void ReadMeasured(TomlTable& reader, const std::string& key, Measured& value) {
  const toml::node* node = reader.Find(key);
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  if (list == nullptr || list->size() != 3) {
    return reader.Refuse(key, *node, "it must be [value, low, high]");
  }
  const auto number = [&](std::size_t i) { return (*list)[i].value_or(-1.0); };
  value = {number(0), number(1), number(2)};
  // Written so that NaN is refused too.
  const bool ordered = value.low >= 0 && value.low <= value.value && value.value <= value.high;
  if (ordered && std::isfinite(value.high)) return;
  reader.Refuse(key, *node, "it must be [value, low, high] with 0 <= low <= value <= high");
}

Result<FittedCurve> ReadFit(const toml::table& table) {
  FittedCurve fit;
  TomlTable reader(table, "fit");
  reader.Read("operation", fit.op);
  reader.Read("ranks", fit.ranks, 1, kLargestInFile);
  reader.Read("nodes", fit.nodes, 1, kLargestInFile);
  ReadMeasured(reader, "latency_s", fit.latency);
  ReadMeasured(reader, "saturation_s_per_sqrt_byte", fit.saturation);
  ReadMeasured(reader, "inverse_bandwidth_s_per_byte", fit.inverse);
  reader.Read("least_bytes", fit.least_bytes, 0, kMostBytes);
  reader.Read("most_bytes", fit.most_bytes, 0, kMostBytes);
  reader.Read("points", fit.points, 1, kMostBytes);
  reader.Read("error_fitted", fit.error_fitted);
  reader.Read("error_held_out", fit.error_held_out);
  CHORUS_RETURN_IF_ERROR(reader.Finish());
  if (fit.op.empty() || fit.ranks == 0) {
    return InvalidArgument(TomlPlace(table) + "[[fit]] needs operation and ranks");
  }
  if (fit.least_bytes > fit.most_bytes || !std::isfinite(fit.error_fitted) ||
      !std::isfinite(fit.error_held_out)) {
    return InvalidArgument(TomlPlace(table) +
                           "[[fit]] needs least_bytes <= most_bytes, and errors that are numbers");
  }
  return fit;
}

std::string MeasuredText(const Measured& m) {
  return fmt::format("[{}, {}, {}]", m.value, m.low, m.high);
}

// With a point or exponent, so that it reads back as a number with a fraction.
std::string Real(double value) { return fmt::format("{:.17e}", value); }

}  // namespace

Result<Machine> ParseMachine(std::string_view text, const std::string& origin,
                             const Catalogue& catalogue) {
  CHORUS_ASSIGN_OR_RETURN(const toml::table document, ParseTomlText(text, origin));
  TomlTable top(document, origin);
  const toml::node* section = top.Find("machine");
  const toml::node* fits = top.Find("fit");
  CHORUS_RETURN_IF_ERROR(top.Finish());
  if (section == nullptr || section->as_table() == nullptr) {
    return InvalidArgument(origin +
                           ": there is no [machine]; begin with [machine] and on = "
                           "\"h100-8\", or fabric, node and link_bandwidth");
  }
  TomlTable reader(*section->as_table(), "machine");
  std::string on;
  reader.Read("on", on);
  Hardware hardware;
  hardware.name = origin;
  Topology::Definition d;
  if (!on.empty()) {
    Result<Machine> like = MachineNamed(on, catalogue);
    if (!like.ok()) return like.status().WithContext(TomlPlace(*section) + "'on'");
    hardware = like->hardware;
    d = like->topology.definition();
  }
  std::string name = on.empty() ? origin : on;
  reader.Read("name", name);
  ReadTopology(reader, hardware, d);
  CHORUS_RETURN_IF_ERROR(reader.Finish());
  Result<Topology> topology = Topology::Make(std::move(d));
  if (!topology.ok()) return topology.status().WithContext(origin);
  Machine machine{name, *std::move(topology), std::move(hardware), {}, origin};
  if (fits == nullptr) return machine;
  const toml::array* list = fits->as_array();
  if (list == nullptr || !list->is_array_of_tables()) {
    return InvalidArgument(TomlPlace(*fits) + "'fit' must be sections [[fit]]");
  }
  for (const toml::node& fit : *list) {
    CHORUS_ASSIGN_OR_RETURN(FittedCurve curve, ReadFit(*fit.as_table()));
    machine.fits.push_back(std::move(curve));
  }
  return machine;
}

std::string MachineText(const Machine& machine, std::string_view comment) {
  const Topology::Definition& d = machine.topology.definition();
  std::string text;
  while (!comment.empty()) {
    const std::size_t end = comment.find('\n');
    text += fmt::format("# {}\n", comment.substr(0, end));
    comment.remove_prefix(end == std::string_view::npos ? comment.size() : end + 1);
  }
  const auto link = [&](std::string_view what, const LinkSpec& spec) {
    text += fmt::format("{}_bandwidth = \"{:.17g} B/s\"\n", what, spec.bandwidth.value());
    text += fmt::format("{}_latency = \"{:.17g} s\"\n", what, spec.latency.value());
  };
  text +=
      fmt::format("\n[machine]\nname = \"{}\"\nfabric = \"{}\"\n", machine.name, Name(d.fabric));
  if (d.fabric == Fabric::kTorus) {
    std::string sizes, wraps;
    for (const TorusAxis& axis : d.axes) {
      sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", axis.size);
      wraps += fmt::format("{}{}", wraps.empty() ? "" : ", ", axis.wraps);
    }
    text += fmt::format("axes = [{}]\nwraps = [{}]\n", sizes, wraps);
  } else {
    text += fmt::format("node = {}\n", d.node_size);
  }
  text += fmt::format("reduces = {}\n", d.switch_reduces);
  if (d.link.bandwidth.value() > 0) link("link", d.link);
  if (d.nodes > 1) {
    text += fmt::format("nodes = {}\nnics = {}\nleaf_nodes = {}\noversubscription = {}\n", d.nodes,
                        d.nics, d.leaf_nodes, Real(d.oversubscription));
    link("nic", d.nic);
  }
  for (const FittedCurve& f : machine.fits) {
    text += fmt::format("\n[[fit]]\noperation = \"{}\"\nranks = {}\nnodes = {}\n", f.op, f.ranks,
                        f.nodes);
    text += "latency_s = " + MeasuredText(f.latency) + "\n";
    text += "saturation_s_per_sqrt_byte = " + MeasuredText(f.saturation) + "\n";
    text += "inverse_bandwidth_s_per_byte = " + MeasuredText(f.inverse) + "\n";
    text += fmt::format("least_bytes = {}\nmost_bytes = {}\npoints = {}\n", f.least_bytes,
                        f.most_bytes, f.points);
    text += fmt::format("error_fitted = {}\nerror_held_out = {}\n", Real(f.error_fitted),
                        Real(f.error_held_out));
  }
  return text;
}

}  // namespace chorus
