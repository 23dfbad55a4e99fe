#include "chorus/topology/toml_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "chorus/base/nearest.h"

namespace chorus {

Result<toml::table> ParseTomlText(std::string_view text, const std::string& origin) {
  try {
    return toml::parse(text, origin);
  } catch (const toml::parse_error& error) {
    return InvalidArgument(fmt::format("{}:{}: {}", origin, error.source().begin.line,
                                       std::string(error.description())));
  }
}

std::string TomlPlace(const toml::node& node) {
  const toml::source_region& source = node.source();
  return fmt::format("{}:{}: ", source.path ? *source.path : std::string("text"),
                     source.begin.line);
}

const toml::node* TomlTable::Find(const std::string& key) {
  known_.push_back(key);
  return table_.get(key);
}

void TomlTable::Refuse(const std::string& key, const toml::node& node, std::string_view why) {
  if (!first_error_.ok()) return;
  first_error_ =
      InvalidArgument(fmt::format("{}'{}' of [{}]: {}", TomlPlace(node), key, name_, why));
}

void TomlTable::Read(const std::string& key, std::string& value) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  if (!node->is_string()) return Refuse(key, *node, "it must be text in quotes");
  value = node->as_string()->get();
}

void TomlTable::Read(const std::string& key, bool& value) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  if (!node->is_boolean()) return Refuse(key, *node, "it must be true or false");
  value = node->as_boolean()->get();
}

void TomlTable::Read(const std::string& key, std::int64_t& value, std::int64_t least,
                     std::int64_t most) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  const std::string want = fmt::format("it must be a whole number from {} to {}", least, most);
  if (!node->is_integer()) return Refuse(key, *node, want);
  const std::int64_t got = node->as_integer()->get();
  if (got < least || got > most) return Refuse(key, *node, want);
  value = got;
}

void TomlTable::Read(const std::string& key, double& value) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  if (!node->is_number()) return Refuse(key, *node, "it must be a number");
  value = *node->value<double>();
}

Status TomlTable::Finish() const {
  CHORUS_RETURN_IF_ERROR(first_error_);
  for (const auto& [key, node] : table_) {
    const std::string name(key.str());
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    return InvalidArgument(fmt::format("{}[{}] has no key '{}'; {}", TomlPlace(node), name_, name,
                                       NearestAdvice(name, known_)));
  }
  return OkStatus();
}

}  // namespace chorus
