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

// The block that this rank sends, as it lies in what the rank holds; in bytes.
BlockShape BlockToSend(const CollectiveShape& shape) {
  return {.outer = shape.outer,
          .length = shape.held,
          .inner = shape.inner * SizeOf(shape.dtype),
          .begin = shape.from,
          .count = shape.lengths[shape.index]};
}

Status Broadcast(const CollectiveShape& shape, Group& group, const void* in, void* out) {
  if (shape.index == shape.owner) {
    PackBlock(BlockToSend(shape), static_cast<const char*>(in), static_cast<char*>(out));
  }
  return group.Broadcast(MutableBuffer(out, shape.elements, shape.dtype), shape.owner);
}

Status AllGather(const CollectiveShape& shape, Group& group, const void* in, void* out,
                 void* workspace) {
  if (shape.owner >= 0) return Broadcast(shape, group, in, out);
  void* joined = shape.NeedsPacking() ? workspace : out;
  const BlockShape own = BlockToSend(shape);
  const char* send = static_cast<const char*>(in);
  if (own.outer == 1) {
    send += own.begin * own.inner;
  } else if (own.count < own.length) {  // rows apart: packed where they go
    char* place = static_cast<char*>(joined);
    for (std::int64_t k = 0; k < shape.index; ++k) {
      place += shape.counts[k] * SizeOf(shape.dtype);
    }
    PackBlock(own, send, place);
    send = place;
  }
  const ConstBuffer mine(send, shape.counts[shape.index], shape.dtype);
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

// Copies the piece `at` of an array of shape `whole`, from dimension `dim` on, to or from a run of
// memory; both pointers are moved past what they have been through of it.
template <typename Copy>
void VisitPiece(const Shape& whole, const std::vector<Block>& at, int dim, char* array, char*& run,
                std::int64_t element, const Copy& copy) {
  const Block& block = at[static_cast<std::size_t>(dim)];
  const std::int64_t stride = whole.elements(dim + 1, whole.rank()) * element;
  array += block.begin * stride;
  bool is_run = true;  // what comes after `dim` is whole
  for (int after = dim + 1; after < whole.rank(); ++after) {
    is_run = is_run && at[static_cast<std::size_t>(after)].size == whole[after];
  }
  if (is_run) {
    copy(array, run, static_cast<std::size_t>(block.size * stride));
    run += block.size * stride;
    return;
  }
  for (std::int64_t i = 0; i < block.size; ++i) {
    VisitPiece(whole, at, dim + 1, array + i * stride, run, element, copy);
  }
}

template <typename Copy>
void VisitPieces(const Pieces& pieces, void* array, void* packed, std::int64_t element,
                 const Copy& copy) {
  char* run = static_cast<char*>(packed);
  for (std::size_t k = 0; k < pieces.at.size(); ++k) {
    if (pieces.counts[k] == 0) continue;
    VisitPiece(pieces.whole, pieces.at[k], 0, static_cast<char*>(array), run, element, copy);
  }
}

Status ExchangePieces(const CollectiveShape& shape, Group& group, const void* in, void* out,
                      void* workspace) {
  const Pieces& sends = shape.pieces.sends;
  const Pieces& receives = shape.pieces.receives;
  const std::int64_t element = SizeOf(shape.dtype);
  char* space = static_cast<char*>(workspace);
  if (!sends.are_runs) {
    VisitPieces(sends, const_cast<void*>(in), space, element,  // NOLINT: only read
                [](const char* array, char* run, std::size_t n) { std::memcpy(run, array, n); });
    in = space;
    space += sends.elements() * element;
  }
  void* const received = receives.are_runs ? out : space;
  CHORUS_RETURN_IF_ERROR(group.AllToAllV(ConstBuffer(in, sends.elements(), shape.dtype),
                                         MutableBuffer(received, receives.elements(), shape.dtype),
                                         sends.counts, receives.counts));
  if (receives.are_runs) return OkStatus();
  VisitPieces(receives, out, received, element,
              [](char* array, const char* run, std::size_t n) { std::memcpy(array, run, n); });
  return OkStatus();
}

}  // namespace

Status Exchange(ProgramOpKind kind, const CollectiveShape& shape, Group* group, const void* in,
                void* out, void* workspace) {
  if (group == nullptr && shape.owner >= 0) {
    PackBlock(BlockToSend(shape), static_cast<const char*>(in), static_cast<char*>(out));
    return OkStatus();
  }
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
    case ProgramOpKind::kAllToAll:
    case ProgramOpKind::kPermute:
      return ExchangePieces(shape, *group, in, out, workspace);
    default:
      return group->AllReduce(ConstBuffer(in, shape.elements, shape.dtype),
                              MutableBuffer(out, shape.elements, shape.dtype));
  }
}

}  // namespace chorus
