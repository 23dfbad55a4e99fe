// How messages name a rank of a group. Thread safety: pure.
#pragma once

#include <string>
#include <vector>

#include "chorus/transport/links.h"

namespace chorus {

// "rank 1", and in a group that was split off "rank 1 (world rank 3)" where the two differ.
std::string MemberName(const Links& links, int member);

// "rank 3", "ranks 0-2, 5". REQUIRES: ascending, not empty.
std::string NameMembers(const std::vector<int>& members);

}  // namespace chorus
