#include "chorus/collective/member_name.h"

#include <fmt/format.h>

namespace chorus {

std::string MemberName(const Links& links, int member) {
  const int world = links.world_rank(member);
  if (world == member) return fmt::format("rank {}", member);
  return fmt::format("rank {} (world rank {})", member, world);
}

std::string NameMembers(const std::vector<int>& members) {
  std::string text = members.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < members.size();) {
    std::size_t end = i + 1;
    while (end < members.size() && members[end] == members[end - 1] + 1) ++end;
    if (i > 0) text += ", ";
    text += std::to_string(members[i]);
    // Two are listed, more are a range.
    if (end - i > 2) text += fmt::format("-{}", members[end - 1]);
    if (end - i == 2) text += fmt::format(", {}", members[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace chorus
