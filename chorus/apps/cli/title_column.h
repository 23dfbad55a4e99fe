// The first column of a table whose rows are titled by names of the user's, which may be long.
//
//   step                              FLOP per rank      bytes sent
//   C.local[I, K]{U_X} = contract(A, B)       65536               0
//   Activations.of.the.second.layer[Batch_X, Width] = all_gather(Activations.of.it, Batch_X)
//                                                 0            4096
//
// Thread safety: value type.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace chorus::cli {

class TitleColumn {
 public:
  // Wide enough for the longest title that is no longer than kMost; at least `least`. All titles
  // are ASCII, as the notation is. `indent` stands before each line.
  TitleColumn(const std::vector<std::string>& titles, std::size_t least, std::string indent = "");

  // The title, filled up to the column's width. A longer one stands on a line of its own, whole, so
  // that the rest of the row is below it and in its columns.
  std::string Cell(std::string_view title) const;

 private:
  static constexpr std::size_t kMost = 60;
  static constexpr std::size_t kGap = 2;  // blanks behind a title

  std::size_t width_;
  std::string indent_;
};

}  // namespace chorus::cli
