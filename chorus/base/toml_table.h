// TomlTable: reads the keys of one table of a TOML file, and remembers which were asked for, so
// that what is left over can be refused with the nearest right name.
//
//   TomlTable section = TomlTable::Section(document, "model");
//   section.Read("width", config.width, 1, 65536);
//   return section.Finish();              // the first error, or the first unknown key
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

// Errors: "kjv.toml:7: " and what the parser says. `origin` names the text in errors.
Result<toml::table> ParseTomlText(std::string_view text, const std::string& origin);

// "kjv.toml:7"; of what was given on the command line, whose origin begins with --, that alone: a
// line number says nothing there.
std::string TomlPlace(const toml::node& node);

// `text` in quotes, so that it reads back the same. What no TOML text may hold becomes '?'.
std::string TomlQuoted(std::string_view text);

class TomlTable {
 public:
  // `heading` is for messages: "[model]", "[[fit]]", or the name of the file for the document.
  TomlTable(const toml::table& table, std::string heading)
      : heading_(std::move(heading)), table_(&table) {}

  // The section [name] of the document. It may be absent: every key then keeps its default. A
  // `name` that is no table is the first error.
  static TomlTable Section(const toml::table& document, std::string_view name);

  // Each keeps `value` as it is if the key is absent, and records the first error: a wrong type, or
  // a number outside [least, most].
  void Read(const std::string& key, std::string& value);
  void Read(const std::string& key, bool& value);
  void Read(const std::string& key, std::int64_t& value, std::int64_t least, std::int64_t most);
  void Read(const std::string& key, double& value, double least, double most);
  // The text of a key that must be there and not be empty; `example` is for the message.
  void ReadNeeded(const std::string& key, std::string& value, std::string_view example);
  // The tables headed [[heading]] of a key; none if it is absent.
  std::vector<const toml::table*> Rows(const std::string& key, std::string_view heading);
  // The node itself, null if absent, for values that need their own reading.
  const toml::node* Find(const std::string& key);
  // Records an error about the value of a key, unless there is one already: "kjv.toml:7: key
  // 'width' in [model] " and `what`.
  void Refuse(const toml::node& node, const std::string& key, std::string_view what);

  // The first error so far.
  const Status& FirstError() const { return first_error_; }
  // The first error, or the first key that nobody asked for.
  Status Finish() const;

 private:
  explicit TomlTable(std::string heading) : heading_(std::move(heading)) {}

  std::string heading_;
  const toml::table* table_ = nullptr;  // null if the section is absent
  std::vector<std::string> known_;
  Status first_error_;
};

}  // namespace chorus
