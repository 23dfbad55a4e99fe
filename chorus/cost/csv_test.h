// Tables of testdata/, for tests: rows as maps from the names of the first line.
#pragma once

#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace chorus {

using CsvRow = std::map<std::string, std::string>;

// The fields of one line; quotes hold commas.
inline std::vector<std::string> CsvFields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

inline std::vector<CsvRow> ReadCsv(const std::string& name) {
  std::ifstream file(std::string(CHORUS_COST_DATA) + "/" + name);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> names = CsvFields(line);
  std::vector<CsvRow> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = CsvFields(line);
    CsvRow row;
    for (std::size_t i = 0; i < names.size() && i < fields.size(); ++i) row[names[i]] = fields[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace chorus
