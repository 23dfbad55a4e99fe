#include "chorus/apps/cli/title_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chorus::cli {

TitleColumn::TitleColumn(const std::vector<std::string>& titles, std::size_t least,
                         std::string indent)
    : width_(least), indent_(std::move(indent)) {
  for (const std::string& title : titles) {
    if (title.size() <= kMost) width_ = std::max(width_, title.size() + kGap);
  }
}

std::string TitleColumn::Cell(std::string_view title) const {
  if (title.size() + kGap <= width_) return fmt::format("{}{:<{}}", indent_, title, width_);
  return fmt::format("{}{}\n{}{:<{}}", indent_, title, indent_, "", width_);
}

}  // namespace chorus::cli
