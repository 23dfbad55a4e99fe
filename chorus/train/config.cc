#include "chorus/train/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <algorithm>

#include "chorus/base/nearest.h"
#include "chorus/base/toml_table.h"
#include "chorus/probe/read_file.h"
#include "chorus/strategy/strategy.h"

namespace chorus {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 20;  // of one dimension
constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;

const std::vector<std::string>& SectionNames() {
  static const std::vector<std::string> names = {"data",     "model",     "mesh",
                                                 "strategy", "optimizer", "train"};
  return names;
}

// One key of one section, and nothing else: TOML in several lines could hold more.
bool IsOneSetting(const toml::table& settings) {
  if (settings.size() != 1) return false;
  const toml::table* section = settings.begin()->second.as_table();
  return section != nullptr && section->size() == 1;
}

// "model.width=256" -> [model] width = 256. A value that is no TOML, as in strategy.name=fsdp, is
// text whose quotes the shell took.
Result<toml::table> ParseOverride(const std::string& setting) {
  const std::string origin = "--set " + setting;
  const Status no_setting = InvalidArgument(
      fmt::format("{}: an override is section.key=value, like model.width=256", origin));
  const std::size_t equals = setting.find('=');
  const std::size_t dot = setting.find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot > equals) return no_setting;
  Result<toml::table> parsed = ParseTomlText(setting, origin);
  if (parsed.ok() && !IsOneSetting(*parsed)) return no_setting;
  if (parsed.ok()) return parsed;
  std::string value = setting.substr(equals + 1);
  value.erase(std::remove(value.begin(), value.end(), '\''), value.end());
  return ParseTomlText(setting.substr(0, equals + 1) + "'" + value + "'", origin);
}

// Moves, because a copy of a node forgets where it was written.
void MergeOverride(toml::table&& settings, toml::table& document) {
  for (auto&& [section, node] : settings) {
    toml::table* into = document.get_as<toml::table>(section.str());
    if (into == nullptr) {
      document.insert(section, std::move(node));  // does nothing if it is there and no table
      continue;
    }
    for (auto&& [key, value] : *node.as_table()) into->insert_or_assign(key, std::move(value));
  }
}

Status CheckSections(const toml::table& document) {
  for (const auto& [key, node] : document) {
    const std::string name(key.str());
    const auto& names = SectionNames();
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string nearest = Nearest(name, names);
    const std::string advice = nearest.empty()
                                   ? fmt::format("sections are [{}]", fmt::join(names, "] ["))
                                   : fmt::format("did you mean [{}]?", nearest);
    return InvalidArgument(
        fmt::format("{}: section [{}] is unknown; {}", TomlPlace(node), name, advice));
  }
  return OkStatus();
}

Status ReadData(const toml::table& document, const std::string& origin, DataConfig& data) {
  TomlTable section = TomlTable::Section(document, "data");
  section.Read("source", data.source);
  section.Read("held_out", data.held_out, 0.001, 0.5);
  CHORUS_RETURN_IF_ERROR(section.Finish());
  if (data.source.empty()) {
    return InvalidArgument(
        fmt::format("{}: [data] needs source = \"bible-kjv\", or the path of a text file", origin));
  }
  return OkStatus();
}

Status ReadModel(const toml::table& document, ModelConfig& model) {
  TomlTable section = TomlTable::Section(document, "model");
  section.Read("window", model.window, 1, 4096);
  section.Read("width", model.width, 1, kMostElements);
  section.Read("hidden", model.hidden, 1, kMostElements);
  section.Read("blocks", model.blocks, 0, 1000);
  return section.Finish();
}

// Adds the axes of [mesh] that are not in `order` yet, as they are written, major first; TOML
// itself gives keys no order.
void AddAxes(const toml::table& settings, std::vector<std::string>& order) {
  const toml::table* mesh = settings.get_as<toml::table>("mesh");
  if (mesh == nullptr) return;
  std::vector<std::pair<toml::source_position, std::string>> written;
  for (const auto& [key, value] : *mesh) written.emplace_back(key.source().begin, key.str());
  std::sort(written.begin(), written.end());
  for (auto& [place, axis] : written) {
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  }
}

// `order` has every axis of [mesh].
Status ReadMesh(const toml::table& document, const std::vector<std::string>& order, Mesh& mesh) {
  const toml::node* node = document.get("mesh");
  if (node == nullptr) {
    CHORUS_ASSIGN_OR_RETURN(mesh, Mesh::Parse("X=1"));
    return OkStatus();
  }
  if (!node->is_table()) {
    return InvalidArgument(
        fmt::format("{}: 'mesh' is not a section; write [mesh] above its axes", TomlPlace(*node)));
  }
  std::vector<MeshAxis> axes;
  for (const std::string& axis : order) {
    const toml::node& size = *node->as_table()->get(axis);
    if (!size.is_integer()) {
      return InvalidArgument(
          fmt::format("{}: axis '{}' in [mesh] must be a number of ranks", TomlPlace(size), axis));
    }
    axes.push_back({axis, size.as_integer()->get()});
  }
  if (axes.empty()) {
    return InvalidArgument(fmt::format(
        "{}: [mesh] has no axis; write one, like X = 4, or leave [mesh] out", TomlPlace(*node)));
  }
  Result<Mesh> made = Mesh::Create(axes);
  if (!made.ok()) return made.status().WithContext(TomlPlace(*node) + ": [mesh]");
  mesh = *made;
  return OkStatus();
}

Status ReadParameterRow(const toml::table& table, ShardingTable& rows) {
  TomlTable section(table, "[[strategy.parameters]]");
  ParameterRowText text;
  section.Read("pattern", text.pattern);
  section.Read("rest", text.rest);
  section.Read("use", text.use);
  section.Read("gradient", text.gradient);
  section.Read("optimizer", text.optimizer);
  section.Read("policy", text.policy);
  CHORUS_RETURN_IF_ERROR(section.Finish());
  Result<ParameterRow> row = ParseParameterRow(text);
  if (!row.ok()) return row.status().WithContext(TomlPlace(table) + ": [[strategy.parameters]]");
  rows.parameters.push_back(*row);
  return OkStatus();
}

Status ReadValueRow(const toml::table& table, ShardingTable& rows) {
  TomlTable section(table, "[[strategy.values]]");
  std::string pattern;
  std::string spec;
  section.Read("pattern", pattern);
  section.Read("spec", spec);
  CHORUS_RETURN_IF_ERROR(section.Finish());
  Result<ValueRow> row = ParseValueRow(pattern, spec);
  if (!row.ok()) return row.status().WithContext(TomlPlace(table) + ": [[strategy.values]]");
  rows.values.push_back(*row);
  return OkStatus();
}

Status ReadStrategy(const toml::table& document, StrategyConfig& strategy) {
  TomlTable section = TomlTable::Section(document, "strategy");
  section.Read("name", strategy.name);
  std::vector<std::string> names = StrategyNames();
  names.emplace_back(kRowsOnly);
  if (std::find(names.begin(), names.end(), strategy.name) == names.end()) {
    section.Refuse(
        *section.Find("name"), "name",
        fmt::format("is \"{}\"; it must be one of {}", strategy.name, fmt::join(names, ", ")));
  }
  for (const toml::table* row : section.Rows("parameters", "strategy.parameters")) {
    CHORUS_RETURN_IF_ERROR(ReadParameterRow(*row, strategy.rows));
  }
  for (const toml::table* row : section.Rows("values", "strategy.values")) {
    CHORUS_RETURN_IF_ERROR(ReadValueRow(*row, strategy.rows));
  }
  return section.Finish();
}

Status ReadOptimizer(const toml::table& document, AdamWSettings& rule, LearningRate& rate) {
  TomlTable section = TomlTable::Section(document, "optimizer");
  section.Read("learning_rate", rate.peak, 1e-9, 10.0);
  section.Read("warmup_steps", rate.warmup_steps, 0, kMostSteps);
  section.Read("final_fraction", rate.final_fraction, 0.0, 1.0);
  section.Read("beta1", rule.beta1, 0.0, 0.9999999);
  section.Read("beta2", rule.beta2, 0.0, 0.9999999);
  section.Read("epsilon", rule.epsilon, 1e-30, 1.0);
  section.Read("weight_decay", rule.weight_decay, 0.0, 10.0);
  return section.Finish();
}

Status ReadLoop(const toml::table& document, LoopConfig& loop) {
  TomlTable section = TomlTable::Section(document, "train");
  section.Read("batch", loop.batch, 1, kMostElements);
  section.Read("steps", loop.steps, 0, kMostSteps);
  double seconds = 0;
  section.Read("seconds", seconds, 0.001, 1e9);
  if (seconds > 0) loop.seconds = seconds;
  auto seed = static_cast<std::int64_t>(loop.seed);
  section.Read("seed", seed, 0, INT64_MAX);
  loop.seed = static_cast<std::uint64_t>(seed);
  std::string dtype(Name(loop.dtype));
  section.Read("dtype", dtype);
  if (dtype == "f64") loop.dtype = DType::kF64;
  if (dtype != "f32" && dtype != "f64") {
    section.Refuse(*section.Find("dtype"), "dtype",
                   fmt::format("is \"{}\"; it must be \"f32\" or \"f64\"", dtype));
  }
  section.Read("evaluate_every", loop.evaluate_every, 1, kMostSteps);
  section.Read("evaluate_samples", loop.evaluate_samples, 1, kMostSteps);
  section.Read("sample_characters", loop.sample_characters, 0, kMostElements);
  section.Read("temperature", loop.temperature, 0.0, 100.0);
  section.Read("prompt", loop.prompt);
  return section.Finish();
}

}  // namespace

Result<TrainConfig> ParseTrainConfig(std::string_view text, const std::string& origin,
                                     const std::vector<std::string>& overrides) {
  CHORUS_ASSIGN_OR_RETURN(toml::table document, ParseTomlText(text, origin));
  // An override changes the size of an axis, not its place; axes that only overrides name come
  // last.
  std::vector<std::string> axes;
  AddAxes(document, axes);
  for (const std::string& setting : overrides) {
    CHORUS_ASSIGN_OR_RETURN(toml::table parsed, ParseOverride(setting));
    AddAxes(parsed, axes);
    MergeOverride(std::move(parsed), document);
  }
  CHORUS_RETURN_IF_ERROR(CheckSections(document));
  TrainConfig config;
  CHORUS_RETURN_IF_ERROR(ReadData(document, origin, config.data));
  CHORUS_RETURN_IF_ERROR(ReadModel(document, config.model));
  CHORUS_RETURN_IF_ERROR(ReadMesh(document, axes, config.mesh));
  CHORUS_RETURN_IF_ERROR(ReadStrategy(document, config.strategy));
  CHORUS_RETURN_IF_ERROR(ReadOptimizer(document, config.optimizer, config.learning_rate));
  CHORUS_RETURN_IF_ERROR(ReadLoop(document, config.loop));
  return config;
}

Result<TrainConfig> LoadTrainConfig(const std::string& path,
                                    const std::vector<std::string>& overrides) {
  CHORUS_ASSIGN_OR_RETURN(
      const std::string text,
      ReadFile(path, "configuration", "give the path of a TOML file, like examples/kjv-mlp.toml"));
  return ParseTrainConfig(text, path, overrides);
}

}  // namespace chorus
