#include "chorus/topology/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "chorus/base/counted.h"

namespace chorus {
namespace {

// "8x16" -> 8, 16.
Result<std::vector<std::int64_t>> ParseSizes(std::string_view text, std::string_view name) {
  std::vector<std::int64_t> sizes;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    std::int64_t size = 0;
    const auto [stop, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 1) break;
    sizes.push_back(size);
    if (stop == end) return sizes;
    if (*stop != 'x') break;
    at = stop + 1;
  }
  return InvalidArgument(fmt::format(
      "'{}' in '{}' is no size; write h100-8 (devices), h100-8x16 (devices x nodes) or v5e-8x4 "
      "(axes of a torus), each 1 or more",
      text, name));
}

constexpr std::int64_t kMostInAMachine = std::int64_t{1} << 24;  // as Topology::Make has it

// "for more write h100-8x2": what is valid of so many devices in so many nodes, where one node does
// not hold them.
std::string AdviceForMore(const Hardware& hardware, std::int64_t devices, std::int64_t nodes) {
  for (const char* figure : {"nics", "nic_bandwidth", "nic_latency"}) {
    if (hardware.Find(figure) != nullptr) continue;
    return fmt::format("give 1 to {}, as nothing is known of what would join several nodes",
                       hardware.node_size);
  }
  const std::int64_t most = std::max<std::int64_t>(1, kMostInAMachine / hardware.node_size);
  const std::int64_t each = devices / hardware.node_size + (devices % hardware.node_size > 0);
  const bool too_many = each > most || nodes > most / each;
  return fmt::format("{} {}-{}x{}", too_many ? "the largest machine is" : "for more write",
                     hardware.name, hardware.node_size, too_many ? most : each * nodes);
}

Result<Topology::Definition> SwitchOrMesh(const Hardware& hardware,
                                          const std::vector<std::int64_t>& sizes) {
  Topology::Definition d;
  d.node_size = sizes.empty() ? hardware.node_size : sizes[0];
  d.nodes = sizes.size() > 1 ? sizes[1] : 1;
  if (sizes.size() > 2) {
    return InvalidArgument(fmt::format("{} takes devices and nodes, as in {}-{}x4; it is no torus",
                                       hardware.name, hardware.name, hardware.node_size));
  }
  if (d.node_size > hardware.node_size) {
    return InvalidArgument(fmt::format("a node of {} has {}, not {}; {}", hardware.name,
                                       Counted(hardware.node_size, "device"), d.node_size,
                                       AdviceForMore(hardware, d.node_size, d.nodes)));
  }
  d.fabric = hardware.fabric;
  d.switch_reduces = hardware.switch_reduces;
  if (d.nodes == 1) return d;
  CHORUS_ASSIGN_OR_RETURN(const double nics, hardware.Value("nics"));
  CHORUS_ASSIGN_OR_RETURN(const double bandwidth, hardware.Value("nic_bandwidth"));
  CHORUS_ASSIGN_OR_RETURN(const double latency, hardware.Value("nic_latency"));
  d.nics = NicsOf(hardware, static_cast<std::int64_t>(nics), d.node_size);
  d.nic = {Seconds(latency), BytesPerSecond(bandwidth)};
  return d;
}

Result<Topology::Definition> Slice(const Hardware& hardware,
                                   const std::vector<std::int64_t>& sizes) {
  Topology::Definition d;
  d.fabric = Fabric::kTorus;
  if (sizes.empty() || static_cast<std::int64_t>(sizes.size()) > hardware.torus_axes) {
    return InvalidArgument(fmt::format("{} is a torus of up to {} axes; write for example {}-{}",
                                       hardware.name, hardware.torus_axes, hardware.name,
                                       hardware.torus_axes == 3 ? "4x4x8" : "16x16"));
  }
  for (std::int64_t size : sizes) {
    if (size > hardware.whole_axis) {
      return InvalidArgument(fmt::format("an axis of {} is too long for {}; at most {}", size,
                                         hardware.name, hardware.whole_axis));
    }
    d.node_size *= size;
  }
  d.axes = SliceAxes(hardware, sizes);
  return d;
}

}  // namespace

std::int64_t NicsOf(const Hardware& hardware, std::int64_t nics, std::int64_t node_size) {
  return std::clamp<std::int64_t>(nics * node_size / hardware.node_size, 1, node_size);
}

double FittedCurve::Time(double bytes) const {
  return latency.value + saturation.value * std::sqrt(bytes) + inverse.value * bytes;
}

std::vector<TorusAxis> SliceAxes(const Hardware& hardware, const std::vector<std::int64_t>& sizes) {
  const bool cubes =
      std::all_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size % 4 == 0; });
  std::vector<TorusAxis> axes;
  for (std::int64_t size : sizes) {
    bool wraps = false;
    if (size >= kLeastToWrap) switch (hardware.wrap) {
        case WrapRule::kAlways:
          wraps = true;
          break;
        case WrapRule::kNever:
          break;
        case WrapRule::kWholeAxis:
          wraps = size == hardware.whole_axis;
          break;
        case WrapRule::kCubes:
          wraps = cubes && static_cast<std::int64_t>(sizes.size()) == hardware.torus_axes;
          break;
      }
    axes.push_back({size, wraps});
  }
  return axes;
}

std::string WhyNoWrap(const Hardware& hardware, std::int64_t axis_size) {
  if (axis_size < kLeastToWrap) {
    return fmt::format("an axis of {} cannot wrap: it has no way round; {} or more devices have",
                       axis_size, kLeastToWrap);
  }
  std::string first = fmt::format("an axis of {} on {} does not wrap", axis_size, hardware.name);
  switch (hardware.wrap) {
    case WrapRule::kWholeAxis:
      return fmt::format("{}; only an axis of {} does", first, hardware.whole_axis);
    case WrapRule::kCubes:
      return fmt::format("{}; slices of whole 4x4x4 cubes do, as {}-4x4x{}", first, hardware.name,
                         std::max<std::int64_t>(4, (axis_size + 3) / 4 * 4));
    case WrapRule::kAlways:
    case WrapRule::kNever:
      break;
  }
  return first;
}

Result<Machine> MachineNamed(std::string_view name, const Catalogue& catalogue) {
  std::string_view hardware_name = name;
  std::vector<std::int64_t> sizes;
  const std::size_t dash = name.rfind('-');
  if (dash != std::string_view::npos && dash + 1 < name.size() && name[dash + 1] >= '0' &&
      name[dash + 1] <= '9') {
    hardware_name = name.substr(0, dash);
    CHORUS_ASSIGN_OR_RETURN(sizes, ParseSizes(name.substr(dash + 1), name));
  }
  CHORUS_ASSIGN_OR_RETURN(const Hardware* hardware, catalogue.Find(hardware_name));
  const bool torus = hardware->fabric == Fabric::kTorus;
  CHORUS_ASSIGN_OR_RETURN(Topology::Definition d,
                          torus ? Slice(*hardware, sizes) : SwitchOrMesh(*hardware, sizes));
  CHORUS_ASSIGN_OR_RETURN(const double bandwidth, hardware->Value("link_bandwidth"));
  CHORUS_ASSIGN_OR_RETURN(const double latency, hardware->Value("link_latency"));
  d.link = {Seconds(latency), BytesPerSecond(bandwidth)};
  CHORUS_ASSIGN_OR_RETURN(Topology topology, Topology::Make(std::move(d)));
  return Machine{std::string(name), std::move(topology), *hardware, {}, ""};
}

}  // namespace chorus
