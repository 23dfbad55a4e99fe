// Machine files: writing them.
#include <fmt/format.h>

#include "chorus/base/toml_table.h"
#include "chorus/topology/machine.h"

namespace chorus {
namespace {

std::string MeasuredText(const Measured& m) {
  return m.IntervalKnown() ? fmt::format("[{}, {}, {}]", m.value, m.low, m.high)
                           : fmt::format("[{}]", m.value);
}

// With a point or exponent, so that it reads back as a number with a fraction.
std::string Real(double value) { return fmt::format("{:.17e}", value); }

// Every line after "# ", without what no comment may hold.
std::string CommentText(std::string_view comment) {
  std::string text = "# ";
  for (const char c : comment) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n') {
      text += "\n# ";
    } else {
      text += code < 0x20 || code >= 0x7f ? '?' : c;
    }
  }
  return text + "\n";
}

// What to write after `on`: the machine's name, if that alone gives its hardware and as many nodes,
// or else the name of its hardware; empty if neither gives it.
std::string WhatItIsLike(const Machine& machine) {
  const Topology::Definition& d = machine.topology.definition();
  for (const std::string& name : {machine.name, machine.hardware.name}) {
    const Result<Machine> named = MachineNamed(name, Catalogue::BuiltIn());
    if (!named.ok() || named->hardware != machine.hardware) continue;
    const Topology::Definition& like = named->topology.definition();
    if (like.fabric == d.fabric && (like.nodes == d.nodes || name != machine.name)) return name;
  }
  return "";
}

}  // namespace

std::string MachineText(const Machine& machine, std::string_view comment) {
  const Topology::Definition& d = machine.topology.definition();
  std::string text = comment.empty() ? "" : CommentText(comment);
  const auto link = [&](std::string_view what, const LinkSpec& spec) {
    text += fmt::format("{}_bandwidth = \"{:.17g} B/s\"\n", what, spec.bandwidth.value());
    text += fmt::format("{}_latency = \"{:.17g} s\"\n", what, spec.latency.value());
  };
  const std::string on = WhatItIsLike(machine);
  text += "\n[machine]\n";
  if (!on.empty()) text += fmt::format("on = {}\n", TomlQuoted(on));
  if (on != machine.name) text += fmt::format("name = {}\n", TomlQuoted(machine.name));
  text += fmt::format("fabric = \"{}\"\n", Name(d.fabric));
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
  if (d.node_size > 1) link("link", d.link);
  if (d.nodes > 1) {
    text += fmt::format("nodes = {}\nnics = {}\nleaf_nodes = {}\nnetwork_reduces = {}\n", d.nodes,
                        d.nics, d.leaf_nodes, d.network_reduces);
    if (d.leaf_nodes > 0) {
      text += fmt::format("oversubscription = {}\n", Real(d.oversubscription));
    }
    link("nic", d.nic);
  }
  for (const FittedCurve& f : machine.fits) {
    text += fmt::format("\n[[fit]]\noperation = {}\nranks = {}\nnodes = {}\n", TomlQuoted(f.op),
                        f.ranks, f.nodes);
    if (f.root >= 0) text += fmt::format("root = {}\n", f.root);
    text += "latency_s = " + MeasuredText(f.latency) + "\n";
    text += "saturation_s_per_sqrt_byte = " + MeasuredText(f.saturation) + "\n";
    text += "inverse_bandwidth_s_per_byte = " + MeasuredText(f.inverse) + "\n";
    text += fmt::format("least_bytes = {}\nmost_bytes = {}\npoints = {}\n", f.least_bytes,
                        f.most_bytes, f.points);
    text += fmt::format("error_fitted = {}\n", Real(f.error_fitted));
    if (f.error_held_out) text += fmt::format("error_held_out = {}\n", Real(*f.error_held_out));
  }
  return text;
}

}  // namespace chorus
