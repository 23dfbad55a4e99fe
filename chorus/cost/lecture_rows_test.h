// What both halves of the lecture notes' numbers share: rows, and the check of each.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "chorus/cost/csv_test.h"
#include "chorus/topology/machine.h"

namespace chorus {

// One check a row, by its id; the body asserts.
using LectureChecks = std::map<std::string, void (*)()>;

// Rows on shards, hardware, products and strategies; the others are on collectives.
inline bool IsOfOthers(const std::string& id) {
  static const std::set<std::string> others = {"S0-27", "S0-28",  "S0-29",  "S0-30",
                                               "S0-31", "S0-32a", "S0-32b", "S0-33",
                                               "S3-04", "S3-05",  "S3-08"};
  return id.rfind("S4-", 0) == 0 || others.count(id) != 0;
}

// Runs the check of every row of one half; each row must have one, and each check a row.
inline void CheckLectureRows(const LectureChecks& checks, bool others, std::size_t count) {
  std::set<std::string> seen;
  for (const CsvRow& row : ReadCsv("lecture_examples.csv")) {
    const std::string& id = row.at("id");
    if (IsOfOthers(id) != others) continue;
    SCOPED_TRACE(id + ": " + row.at("op") + ", expected " + row.at("expected_value") + " " +
                 row.at("unit"));
    const auto check = checks.find(id);
    if (check == checks.end()) {
      ADD_FAILURE() << "no check of this row";
      continue;
    }
    check->second();
    seen.insert(id);
  }
  EXPECT_EQ(seen.size(), count);
  EXPECT_EQ(checks.size(), count);
}

inline const Hardware& HardwareOf(std::string_view name) {
  return **Catalogue::BuiltIn().Find(name);
}
inline double Figured(std::string_view hardware, std::string_view key) {
  return *HardwareOf(hardware).Value(key);
}

}  // namespace chorus
