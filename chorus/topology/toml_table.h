// TomlTable: reads the keys of one table of a catalogue or machine file, and remembers which were
// asked for, so that what is left over can be refused with the nearest right name.
//
// Thread safety: none; lives within one parse. The document must outlive it.
#pragma once

#include <toml++/toml.h>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"

namespace chorus {

// Errors: "catalogue.toml:7: " and what the parser says.
Result<toml::table> ParseTomlText(std::string_view text, const std::string& origin);

// "catalogue.toml:7: ".
std::string TomlPlace(const toml::node& node);

class TomlTable {
 public:
  TomlTable(const toml::table& table, std::string name) : table_(table), name_(std::move(name)) {}

  // Each keeps `value` as it is if the key is absent, and records the first error.
  void Read(const std::string& key, std::string& value);
  void Read(const std::string& key, bool& value);
  void Read(const std::string& key, std::int64_t& value, std::int64_t least, std::int64_t most);
  void Read(const std::string& key, double& value);
  // The node itself, null if absent, for values that need their own reading.
  const toml::node* Find(const std::string& key);
  // Records an error about a key, unless there is one already.
  void Refuse(const std::string& key, const toml::node& node, std::string_view why);

  // The first error, or the first key that nobody asked for.
  Status Finish() const;

 private:
  const toml::table& table_;
  std::string name_;
  std::vector<std::string> known_;
  Status first_error_;
};

}  // namespace chorus
