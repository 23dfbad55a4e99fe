// Positions of a rank's elements in the whole array.
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/base/shape.h"
#include "chorus/mesh/mesh.h"
#include "chorus/mesh/spec.h"

namespace chorus {

// Calls visit(local, global) for each element that `rank` holds, in row-major order of its shard:
// `local` counts 0, 1, 2, ..., `global` is the row-major position in the whole array.
template <typename Visit>
void ForEachElement(const Spec& spec, const Mesh& mesh, const DimSizes& sizes, std::int64_t rank,
                    Visit visit) {
  std::vector<Block> blocks;
  std::int64_t elements = 1;
  for (const SpecDim& dim : spec.dims()) {
    blocks.push_back(BlockOf(dim.axes, mesh, sizes.find(dim.name)->second, rank));
    elements *= blocks.back().size;
  }
  const Shape whole = GlobalShape(spec, sizes);
  // Distance between neighbours of each dimension in the whole array, and where the shard begins.
  std::vector<std::int64_t> stride(blocks.size());
  std::int64_t begin = 0;
  for (std::size_t d = 0; d < blocks.size(); ++d) {
    stride[d] = whole.elements(static_cast<int>(d) + 1, whole.rank());
    begin += blocks[d].begin * stride[d];
  }
  std::vector<std::int64_t> at(blocks.size(), 0);
  std::int64_t global = begin;
  for (std::int64_t local = 0; local < elements; ++local) {
    visit(local, global);
    for (std::size_t d = blocks.size(); d-- > 0;) {
      global += stride[d];
      if (++at[d] < blocks[d].size) break;
      global -= at[d] * stride[d];
      at[d] = 0;
    }
  }
}

}  // namespace chorus
