#include "chorus/base/toml_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

}  // namespace

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
  std::string origin = source.path ? *source.path : "text";
  if (origin.starts_with("--")) return origin;
  return fmt::format("{}:{}", origin, source.begin.line);
}

std::string TomlQuoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    const auto code = static_cast<unsigned char>(c);
    quoted += code < 0x20 || code == 0x7f ? '?' : c;
  }
  return quoted + '"';
}

TomlTable TomlTable::Section(const toml::table& document, std::string_view name) {
  TomlTable section(fmt::format("[{}]", name));
  const toml::node* node = document.get(name);
  if (node == nullptr) return section;
  section.table_ = node->as_table();
  if (section.table_ == nullptr) {
    section.first_error_ =
        InvalidArgument(fmt::format("{}: '{}' is {}, not a section; write [{}] above its keys",
                                    TomlPlace(*node), name, TypeName(*node), name));
  }
  return section;
}

const toml::node* TomlTable::Find(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  return table_ == nullptr ? nullptr : table_->get(key);
}

void TomlTable::Refuse(const toml::node& node, const std::string& key, std::string_view what) {
  if (!first_error_.ok()) return;
  first_error_ =
      InvalidArgument(fmt::format("{}: key '{}' in {} {}", TomlPlace(node), key, heading_, what));
}

void TomlTable::Read(const std::string& key, std::string& value) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  if (!node->is_string()) {
    return Refuse(*node, key, fmt::format("is {}; it must be text in quotes", TypeName(*node)));
  }
  value = node->as_string()->get();
}

void TomlTable::Read(const std::string& key, bool& value) {
  const toml::node* node = Find(key);
  if (node == nullptr) return;
  if (!node->is_boolean()) {
    return Refuse(*node, key, fmt::format("is {}; it must be true or false", TypeName(*node)));
  }
  value = node->as_boolean()->get();
}

void TomlTable::Read(const std::string& key, std::int64_t& value, std::int64_t least,
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

void TomlTable::Read(const std::string& key, double& value, double least, double most) {
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

void TomlTable::ReadNeeded(const std::string& key, std::string& value, std::string_view example) {
  std::string read;
  Read(key, read);
  const bool blank = read.find_first_not_of(" \t\n") == std::string::npos;
  if (!blank) {
    value = std::move(read);
    return;
  }
  if (!first_error_.ok() || table_ == nullptr) return;
  const toml::node* node = table_->get(key);
  first_error_ = InvalidArgument(fmt::format(
      "{}: {} {}; write for example {} = {}", TomlPlace(node == nullptr ? *table_ : *node),
      heading_, node == nullptr ? "has no " + key : "has nothing in " + key, key,
      TomlQuoted(example)));
}

std::vector<const toml::table*> TomlTable::Rows(const std::string& key, std::string_view heading) {
  std::vector<const toml::table*> rows;
  const toml::node* node = Find(key);
  if (node == nullptr) return rows;
  if (!node->is_array_of_tables()) {
    Refuse(*node, key, fmt::format("must be rows, each headed [[{}]]", heading));
    return rows;
  }
  for (const toml::node& row : *node->as_array()) rows.push_back(row.as_table());
  return rows;
}

Status TomlTable::Finish() const {
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
        fmt::format("{}: key '{}' in {} is unknown; {}", TomlPlace(node), name, heading_, advice));
  }
  return OkStatus();
}

}  // namespace chorus
