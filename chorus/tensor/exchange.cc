#include "chorus/tensor/exchange.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "chorus/base/dtype.h"
#include "chorus/kernel/block_copy.h"

namespace chorus {
namespace {

// Calls visit(block shape in bytes, first byte of the block in the packed form) for each member.
template <typename Visit>
void ForEachBlock(const CollectiveShape& shape, Visit visit) {
  const std::int64_t element = SizeOf(shape.dtype);
  BlockShape block;
  block.outer = shape.outer;
  block.inner = shape.inner * element;
  for (const std::int64_t length : shape.lengths) block.length += length;
  std::int64_t packed = 0;
  for (const std::int64_t length : shape.lengths) {
    block.count = length;
    visit(block, packed);
    block.begin += length;
    packed += block.block_elements();
  }
}

bool Even(const std::vector<std::int64_t>& counts) {
  return std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end();
}

Status AllGather(const CollectiveShape& shape, Group& group, const void* in, void* out,
                 void* workspace) {
  void* joined = shape.NeedsPacking() ? workspace : out;
  const ConstBuffer mine(in, shape.counts[shape.index], shape.dtype);
  const MutableBuffer all(joined, shape.elements, shape.dtype);
  CHORUS_RETURN_IF_ERROR(Even(shape.counts) ? group.AllGather(mine, all)
                                            : group.AllGatherV(mine, all, shape.counts));
  if (!shape.NeedsPacking()) return OkStatus();
  ForEachBlock(shape, [&](const BlockShape& block, std::int64_t packed) {
    UnpackBlock(block, static_cast<const char*>(workspace) + packed, static_cast<char*>(out));
  });
  return OkStatus();
}

Status ReduceScatter(const CollectiveShape& shape, Group& group, const void* in, void* out,
                     void* workspace) {
  if (shape.NeedsPacking()) {
    ForEachBlock(shape, [&](const BlockShape& block, std::int64_t packed) {
      PackBlock(block, static_cast<const char*>(in), static_cast<char*>(workspace) + packed);
    });
    in = workspace;
  }
  const ConstBuffer all(in, shape.elements, shape.dtype);
  const MutableBuffer mine(out, shape.counts[shape.index], shape.dtype);
  return Even(shape.counts) ? group.ReduceScatter(all, mine)
                            : group.ReduceScatterV(all, mine, shape.counts);
}

}  // namespace

Status Exchange(ProgramOpKind kind, const CollectiveShape& shape, Group* group, const void* in,
                void* out, void* workspace) {
  if (group == nullptr) {  // the sum and the join of one block are the block
    if (in != out && shape.elements > 0) {
      std::memcpy(out, in, static_cast<std::size_t>(shape.elements * SizeOf(shape.dtype)));
    }
    return OkStatus();
  }
  switch (kind) {
    case ProgramOpKind::kAllGather:
      return AllGather(shape, *group, in, out, workspace);
    case ProgramOpKind::kReduceScatter:
      return ReduceScatter(shape, *group, in, out, workspace);
    default:
      return group->AllReduce(ConstBuffer(in, shape.elements, shape.dtype),
                              MutableBuffer(out, shape.elements, shape.dtype));
  }
}

}  // namespace chorus
