// What an operation does, before and after, from its definition alone: no algorithm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chorus/apps/answer/json.h"
#include "chorus/base/status.h"
#include "chorus/schedule/op.h"

namespace chorus::answer {

inline constexpr std::int64_t kMostPrimitiveRanks = 64;

struct PrimitiveQuestion {
  std::string op;
  std::int64_t ranks = 4;
  std::int64_t root = 0;
  // Elements of the blocks, of operations that have a variant with counts: by rank, of all_to_all
  // by pair, row by row. Empty: 1 each.
  std::vector<std::int64_t> counts = {};
};

// A block that lies on a rank: the sum of what ranks first to last contribute.
struct PrimitiveBlock {
  std::int64_t block = 0;
  Contributors of;
};

struct PrimitiveAnswer {
  OpKind op = OpKind::kBarrier;
  std::int64_t ranks = 1;
  std::int64_t root = 0;
  std::vector<std::int64_t> block_elements;
  std::vector<std::vector<PrimitiveBlock>> before;  // by rank: in
  std::vector<std::vector<PrimitiveBlock>> after;   // by rank: out
};

Result<PrimitiveAnswer> Answer(const PrimitiveQuestion& question);
Json ToJson(const PrimitiveAnswer& answer);

}  // namespace chorus::answer
