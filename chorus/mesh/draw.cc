#include "chorus/mesh/draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace chorus {
namespace {

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;  // begin and size, by dimension

// "I 0-2", "I 3"
std::string Label(const std::string& dim, const std::pair<std::int64_t, std::int64_t>& block) {
  if (dim.empty()) return "";
  const auto [begin, size] = block;
  return size == 1 ? fmt::format("{} {}", dim, begin)
                   : fmt::format("{} {}-{}", dim, begin, begin + size - 1);
}

// Ranks by the block they hold.
class Drawing {
 public:
  Drawing(const Spec& spec, const Mesh& mesh, const DimSizes& sizes) {
    for (const SpecDim& dim : spec.dims()) names_.push_back(dim.name);
    while (names_.size() < 2) names_.emplace_back();  // scalars and vectors: one row or column
    for (std::int64_t rank = 0; rank < mesh.size(); ++rank) {
      Ranges place;
      bool is_empty = false;
      for (const SpecDim& dim : spec.dims()) {
        const Block block = BlockOf(dim.axes, mesh, sizes.find(dim.name)->second, rank);
        place.emplace_back(block.begin, block.size);
        is_empty = is_empty || block.size == 0;
      }
      place.resize(names_.size(), {0, 1});
      if (is_empty) {
        nothing_ += (nothing_.empty() ? "" : ", ") + std::to_string(rank);
        continue;
      }
      // The first of those who hold the addends of one copy names all of them.
      if (mesh.IndexInGroup(rank, spec.partial()) != 0) continue;
      std::string holders;
      for (const std::int64_t member : mesh.Group(rank, spec.partial())) {
        holders += (holders.empty() ? "" : "+") + std::to_string(member);
      }
      std::string& cell = cells_[place];
      cell += (cell.empty() ? "" : ",") + holders;
    }
  }

  std::string ToString() const {
    std::string text;
    std::set<Ranges> tables;  // by the blocks of all dimensions but the first two
    for (const auto& [place, holders] : cells_)
      tables.insert(Ranges(place.begin() + 2, place.end()));
    for (const Ranges& table : tables) text += Table(table);
    if (!nothing_.empty()) text += fmt::format("  nothing: {}\n", nothing_);
    return text;
  }

 private:
  std::string Table(const Ranges& rest) const {
    std::set<std::pair<std::int64_t, std::int64_t>> rows;
    std::set<std::pair<std::int64_t, std::int64_t>> columns;
    std::size_t row_width = 0;
    std::size_t width = 0;
    for (const auto& [place, holders] : cells_) {
      rows.insert(place[0]);
      columns.insert(place[1]);
      row_width = std::max(row_width, Label(names_[0], place[0]).size());
      width = std::max({width, Label(names_[1], place[1]).size(), holders.size()});
    }
    std::string text;
    for (std::size_t d = 0; d < rest.size(); ++d) {
      text += (d == 0 ? "  " : ", ") + Label(names_[d + 2], rest[d]);
    }
    if (!rest.empty()) text += "\n";
    std::string head = fmt::format("  {:<{}}  ", "", row_width);
    for (const auto& column : columns) {
      head += fmt::format(" {:<{}} ", Label(names_[1], column), width + 1);
    }
    head.erase(head.find_last_not_of(' ') + 1);
    if (!names_[1].empty()) text += head + "\n";
    for (const auto& row : rows) {
      text += fmt::format("  {:<{}} |", Label(names_[0], row), row_width);
      for (const auto& column : columns) {
        Ranges place = {row, column};
        place.insert(place.end(), rest.begin(), rest.end());
        const auto cell = cells_.find(place);
        text += fmt::format(" {:<{}} |", cell == cells_.end() ? "" : cell->second, width);
      }
      text += "\n";
    }
    return text;
  }

  std::vector<std::string> names_;
  std::map<Ranges, std::string> cells_;
  std::string nothing_;
};

}  // namespace

Result<std::string> DrawSpec(const Spec& spec, const Mesh& mesh, const DimSizes& sizes) {
  CHORUS_RETURN_IF_ERROR(spec.Check(mesh));
  CHORUS_RETURN_IF_ERROR(CheckSizes(spec, sizes));
  if (mesh.size() > kMostRanksDrawn) {
    return InvalidArgument(fmt::format("mesh {} has {} ranks; at most {} can be drawn",
                                       mesh.ToString(), mesh.size(), kMostRanksDrawn));
  }
  return Drawing(spec, mesh, sizes).ToString();
}

}  // namespace chorus
