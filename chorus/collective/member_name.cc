#include "chorus/collective/member_name.h"

#include <fmt/format.h>

namespace chorus {

std::string MemberName(const Links& links, int member) {
  const int world = links.world_rank(member);
  if (world == member) return fmt::format("rank {}", member);
  return fmt::format("rank {} (world rank {})", member, world);
}

}  // namespace chorus
