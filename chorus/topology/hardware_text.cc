#include "chorus/topology/hardware_text.h"

#include <fmt/format.h>

#include "chorus/base/toml_table.h"

namespace chorus {
namespace {

// With all digits, so that it reads back the same.
std::string ValueText(FigureUnit unit, double value) {
  switch (unit) {
    case FigureUnit::kBandwidth:
      return fmt::format("{:.17g} B/s", value);
    case FigureUnit::kSeconds:
      return fmt::format("{:.17g} s", value);
    case FigureUnit::kFlopRate:
      return fmt::format("{:.17g} FLOP/s", value);
    case FigureUnit::kBytes:
      return fmt::format("{:.0f}B", value);
    case FigureUnit::kCount:
      break;
  }
  return fmt::format("{:.0f}", value);
}

std::string FigureLine(const FigureKey& key, const Figure& figure) {
  const auto entry = [&](double value, const std::string& source) {
    return fmt::format("value = \"{}\", source = {}", ValueText(key.unit, value),
                       TomlQuoted(source));
  };
  std::string line = fmt::format("{} = {{ {}", key.key, entry(figure.value, figure.source));
  if (!figure.note.empty()) line += ", note = " + TomlQuoted(figure.note);
  std::string also;
  for (const Figure::Other& other : figure.also) {
    also += fmt::format("{}{{ {} }}", also.empty() ? "" : ", ", entry(other.value, other.source));
  }
  if (!also.empty()) line += fmt::format(", also = [ {} ]", also);
  return line + " }\n";
}

}  // namespace

std::string HardwareText(const Hardware& h) {
  std::string text = fmt::format("[hardware.{}]\ntitle = {}\n", h.name, TomlQuoted(h.title));
  if (!h.note.empty()) text += fmt::format("note = {}\n", TomlQuoted(h.note));
  text += fmt::format("fabric = \"{}\"\nnode = {}\n", Name(h.fabric), h.node_size);
  if (h.fabric == Fabric::kTorus) {
    text += fmt::format("torus_axes = {}\nwhole_axis = {}\n", h.torus_axes, h.whole_axis);
  }
  text += fmt::format("wrap = \"{}\"\nreduces = {}\n", Name(h.wrap), h.switch_reduces);
  if (!h.nccl.empty()) text += fmt::format("nccl = {}\n", TomlQuoted(h.nccl));
  for (const FigureKey& key : FigureKeys()) {
    if (const Figure* figure = h.Find(key.key); figure != nullptr) text += FigureLine(key, *figure);
  }
  return text;
}

}  // namespace chorus
