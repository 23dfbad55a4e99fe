// TomlSection: reads the keys of one [section], and remembers which were asked for, so that what is
// left over can be refused with the nearest right name.
//
//   TomlSection section(document, "model", "kjv.toml");
//   section.Read("width", config.width, 1, 65536);
//   return section.Finish();              // the first error, or the first unknown key
//
// Thread safety: none; lives within one parse. The document must outlive it.
#pragma once

#include <toml++/toml.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"

namespace chorus {

// "kjv.toml:7", or the text of the override that the node came from.
std::string PlaceOf(const toml::node& node);

class TomlSection {
 public:
  // `name` may be absent from the document: every key then keeps its default. A `name` that is no
  // table is the first error.
  TomlSection(const toml::table& document, std::string name);

  // A table that has been found already; `name` is for messages.
  TomlSection(const toml::table* table, std::string name) : name_(std::move(name)), table_(table) {}

  // Each keeps `value` as it is if the key is absent, and records the first error: a wrong type, or
  // a number outside [least, most].
  void Read(const std::string& key, std::int64_t& value, std::int64_t least, std::int64_t most);
  void Read(const std::string& key, double& value, double least, double most);
  void Read(const std::string& key, std::string& value);
  // The node itself, null if absent, for values that need their own reading.
  const toml::node* Find(const std::string& key);
  // Records an error about the value of a key, unless there is one already.
  void Refuse(const toml::node& node, const std::string& key, const std::string& what);

  Status Finish() const;

 private:
  std::string name_;
  const toml::table* table_ = nullptr;  // null if the section is absent
  std::vector<std::string> known_;
  Status first_error_;
};

}  // namespace chorus
