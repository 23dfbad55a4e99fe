// Choices: which algorithm a group uses for each operation, number of ranks and size.
//
// Without rows it is the built-in rule, ChooseAlgorithm. Rows come from measuring a machine
// (`chorus tune`) and say what was fastest there; they hold for the numbers of ranks that they
// name, and the rule for all others. The text is a subset of TOML, made to be read and edited by
// people:
//
//   [all_reduce.2]              # operation and ranks
//   "0 B" = "one_shot"          # from this many bytes on, V of one rank
//   "32 KiB" = "direct"
//
// Thread safety: value type.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chorus/algorithm/algorithm.h"

namespace chorus {

class Choices {
 public:
  // From `from` bytes on `algorithm` is used, up to the next row of the same operation and ranks.
  struct Row {
    OpKind op = OpKind::kAllReduce;
    std::int64_t ranks = 2;
    Bytes from;
    std::shared_ptr<const Algorithm> algorithm;
  };

  Choices() = default;  // no rows: the built-in rule

  // Rows in any order. Errors: an algorithm of another operation or one that has no schedule for
  // that many ranks, two rows for the same place, a first row that does not begin at 0 B.
  static Result<Choices> Create(const std::vector<Row>& rows);
  // The inverse of ToString; comments and empty lines are skipped. Errors name the line. `origin`
  // is kept, to tell people where the rows come from.
  static Result<Choices> Parse(std::string_view text, std::string_view origin = {});
  std::string ToString() const;

  // As ChooseAlgorithm. If `rank_order`, a row counts only if its algorithm sums in rank order.
  const Algorithm& Choose(OpKind op, std::int64_t group_size, Bytes total,
                          bool rank_order = false) const;

  bool empty() const { return rows_.empty(); }
  const std::string& origin() const { return origin_; }
  std::vector<Row> rows() const;

  friend bool operator==(const Choices& a, const Choices& b) {
    return a.ToString() == b.ToString();
  }

 private:
  using Place = std::pair<OpKind, std::int64_t>;  // operation, ranks
  std::map<Place, std::map<Bytes, std::shared_ptr<const Algorithm>>> rows_;
  std::string origin_;  // a file; empty: no file
};

}  // namespace chorus
