#include "chorus/train/toml_section.h"

#include <fmt/format.h>

#include <algorithm>

#include "chorus/base/nearest.h"

namespace chorus {
namespace {

std::string TypeName(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::table:
      return "a section";
    default:
      return "a date or time";
  }
}

// Whether it was given on the command line, where a line number says nothing.
bool IsOverride(const toml::node& node) {
  return node.source().path && node.source().path->rfind("--set", 0) == 0;
}

}  // namespace

std::string PlaceOf(const toml::node& node) {
  const toml::source_region& source = node.source();
  std::string path = source.path ? *source.path : "";
  if (IsOverride(node)) return path;
  return fmt::format("{}:{}", path, source.begin.line);
}

TomlSection::TomlSection(const toml::table& document, std::string name) : name_(std::move(name)) {
  const toml::node* node = document.get(name_);
  if (node == nullptr) return;
  table_ = node->as_table();
  if (table_ == nullptr) {
    first_error_ =
        InvalidArgument(fmt::format("{}: '{}' is {}, not a section; write [{}] above its keys",
                                    PlaceOf(*node), name_, TypeName(*node), name_));
  }
}

const toml::node* TomlSection::Find(const std::string& key) {
  known_.push_back(key);
  return table_ == nullptr ? nullptr : table_->get(key);
}

void TomlSection::Refuse(const toml::node& node, const std::string& key, const std::string& what) {
  if (!first_error_.ok()) return;
  first_error_ =
      InvalidArgument(fmt::format("{}: key '{}' in [{}] {}", PlaceOf(node), key, name_, what));
}

void TomlSection::Read(const std::string& key, std::int64_t& value, std::int64_t least,
                       std::int64_t most) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  const std::string want = fmt::format("a whole number from {} to {}", least, most);
  if (!node->is_integer()) {
    return Refuse(*node, key, fmt::format("is {}; it must be {}", TypeName(*node), want));
  }
  const std::int64_t got = node->as_integer()->get();
  if (got < least || got > most) {
    return Refuse(*node, key, fmt::format("is {}; it must be {}", got, want));
  }
  value = got;
}

void TomlSection::Read(const std::string& key, double& value, double least, double most) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  const std::string want = fmt::format("a number from {} to {}", least, most);
  if (!node->is_number()) {
    return Refuse(*node, key, fmt::format("is {}; it must be {}", TypeName(*node), want));
  }
  const double got = *node->value<double>();
  // Written so that NaN is refused too.
  if (!(got >= least && got <= most)) {
    return Refuse(*node, key, fmt::format("is {}; it must be {}", got, want));
  }
  value = got;
}

void TomlSection::Read(const std::string& key, std::string& value) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  if (!node->is_string()) {
    return Refuse(*node, key, fmt::format("is {}; it must be text in quotes", TypeName(*node)));
  }
  value = node->as_string()->get();
}

Status TomlSection::Finish() const {
  CHORUS_RETURN_IF_ERROR(first_error_);
  if (table_ == nullptr) return OkStatus();
  for (const auto& [key, node] : *table_) {
    const std::string name(key.str());
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string nearest = Nearest(name, known_);
    const std::string advice = nearest.empty()
                                   ? fmt::format("its keys are {}", fmt::join(known_, ", "))
                                   : fmt::format("did you mean '{}'?", nearest);
    return InvalidArgument(
        fmt::format("{}: key '{}' in [{}] is unknown; {}", PlaceOf(node), name, name_, advice));
  }
  return OkStatus();
}

}  // namespace chorus
