// Reading a catalogue: [hardware.NAME] sections with figures that have a source each.
#include <fmt/format.h>

#include <algorithm>

#include "chorus/base/nearest.h"
#include "chorus/base/toml_table.h"
#include "chorus/topology/hardware.h"

namespace chorus {
namespace {

constexpr std::int64_t kLargestInCatalogue = std::int64_t{1} << 20;

// "450 GB/s" of one key. `node` is where it stands, for the error.
Result<double> ReadValue(const FigureKey& key, const toml::node& node) {
  if (!node.is_string()) {
    return InvalidArgument(fmt::format("{}: '{}' must be text with a unit, as in \"{}\"",
                                       TomlPlace(node), key.key,
                                       key.unit == FigureUnit::kBandwidth ? "450 GB/s"
                                       : key.unit == FigureUnit::kSeconds ? "1 us"
                                       : key.unit == FigureUnit::kBytes   ? "80GB"
                                       : key.unit == FigureUnit::kCount   ? "18"
                                                                          : "989 TFLOP/s"));
  }
  Result<double> value = ParseFigure(key, node.as_string()->get());
  if (value.ok()) return value;
  return InvalidArgument(
      fmt::format("{}: '{}': {}", TomlPlace(node), key.key, value.status().message()));
}

Result<Figure> ReadFigure(const FigureKey& key, const toml::node& node) {
  const toml::table* table = node.as_table();
  if (table == nullptr || table->get("value") == nullptr || table->get("source") == nullptr) {
    return InvalidArgument(
        fmt::format("{}: '{}' must be {{ value = \"...\", source = \"...\" }}: every figure says "
                    "where it comes "
                    "from",
                    TomlPlace(node), key.key));
  }
  Figure figure;
  TomlTable reader(*table, fmt::format("[{}]", key.key));
  CHORUS_ASSIGN_OR_RETURN(figure.value, ReadValue(key, *reader.Find("value")));
  reader.ReadNeeded("source", figure.source, "data sheet, 2024");
  reader.Read("note", figure.note);
  if (const toml::node* also = reader.Find("also"); also != nullptr) {
    const toml::array* others = also->as_array();
    if (others == nullptr) {
      return InvalidArgument(TomlPlace(*also) + ": 'also' must be a list of { value, source }");
    }
    for (const toml::node& other : *others) {
      CHORUS_ASSIGN_OR_RETURN(const Figure read, ReadFigure(key, other));
      figure.also.push_back({read.value, read.source});
    }
  }
  CHORUS_RETURN_IF_ERROR(reader.Finish());
  return figure;
}

template <typename Enum>
void ReadName(TomlTable& reader, const std::string& key, Enum& value, int count) {
  std::string text(Name(value));
  reader.Read(key, text);
  std::vector<std::string> known;
  for (int i = 0; i < count; ++i) {
    known.emplace_back(Name(static_cast<Enum>(i)));
    if (known.back() == text) {
      value = static_cast<Enum>(i);
      return;
    }
  }
  const toml::node* node = reader.Find(key);
  reader.Refuse(*node, key, fmt::format("is \"{}\"; {}", text, NearestAdvice(text, known)));
}

// Whether --on NAME-8 can mean it: a word with a dot or a slash is a file there.
bool IsHardwareName(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  const bool sized = dash != std::string_view::npos && dash + 1 < name.size() &&
                     name[dash + 1] >= '0' && name[dash + 1] <= '9';
  return !name.empty() && !sized && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

Result<Hardware> ReadHardware(const std::string& name, const toml::table& table) {
  Hardware hardware;
  hardware.name = name;
  if (!IsHardwareName(name)) {
    return InvalidArgument(fmt::format(
        "{}: '{}' is no name of hardware; write letters, digits, - and _, and at the end no - with "
        "digits, which are sizes",
        TomlPlace(table), name));
  }
  TomlTable reader(table, fmt::format("[hardware.{}]", name));
  reader.Read("title", hardware.title);
  reader.Read("note", hardware.note);
  ReadName(reader, "fabric", hardware.fabric, 3);
  reader.Read("node", hardware.node_size, 1, kLargestInCatalogue);
  reader.Read("torus_axes", hardware.torus_axes, 1, 3);
  reader.Read("whole_axis", hardware.whole_axis, 1, kLargestInCatalogue);
  ReadName(reader, "wrap", hardware.wrap, 4);
  reader.Read("reduces", hardware.switch_reduces);
  reader.Read("nccl", hardware.nccl);
  for (const FigureKey& key : FigureKeys()) {
    const toml::node* node = reader.Find(std::string(key.key));
    if (node == nullptr) continue;
    CHORUS_ASSIGN_OR_RETURN(Figure figure, ReadFigure(key, *node));
    hardware.figures.emplace(key.key, std::move(figure));
  }
  CHORUS_RETURN_IF_ERROR(reader.Finish());
  for (const char* key : {"link_bandwidth", "link_latency"}) {
    if (hardware.Find(key) != nullptr) continue;
    return InvalidArgument(fmt::format(
        "{}: [hardware.{}] has no {}; write {} = {{ value = \"{}\", source = \"data sheet\" }}",
        TomlPlace(table), name, key, key,
        key == std::string_view("link_latency") ? "1 us" : "450 GB/s"));
  }
  if (hardware.fabric == Fabric::kTorus && (hardware.torus_axes < 1 || hardware.whole_axis < 1)) {
    return InvalidArgument(fmt::format(
        "{}: [hardware.{}] is a torus; give torus_axes and whole_axis", TomlPlace(table), name));
  }
  return hardware;
}

}  // namespace

Result<Catalogue> Catalogue::Parse(std::string_view text, const std::string& origin) {
  CHORUS_ASSIGN_OR_RETURN(const toml::table document, ParseTomlText(text, origin));
  Catalogue catalogue;
  if (document.contains("machine") && !document.contains("hardware")) {
    return InvalidArgument(origin + ": this describes a machine; give it to --on");
  }
  TomlTable top(document, origin);
  const toml::node* node = top.Find("hardware");
  CHORUS_RETURN_IF_ERROR(top.Finish());
  if (node == nullptr || node->as_table() == nullptr) {
    return InvalidArgument(origin + ": a catalogue has sections [hardware.NAME]; there is none");
  }
  std::vector<std::pair<std::int64_t, Hardware>> found;  // by line, to keep the order of the file
  for (const auto& [key, value] : *node->as_table()) {
    if (!value.is_table()) {
      return InvalidArgument(TomlPlace(value) + ": [hardware] has sections [hardware.NAME] only");
    }
    CHORUS_ASSIGN_OR_RETURN(Hardware hardware,
                            ReadHardware(std::string(key.str()), *value.as_table()));
    found.emplace_back(value.source().begin.line, std::move(hardware));
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [line, hardware] : found) catalogue.hardware_.push_back(std::move(hardware));
  return catalogue;
}

}  // namespace chorus
