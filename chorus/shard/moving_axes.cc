#include "chorus/shard/moving_axes.h"

#include <set>
#include <string>
#include <utility>

#include "chorus/program/pieces.h"

namespace chorus {
namespace {

std::size_t InCommon(const AxisNames& a, const AxisNames& b) {
  const auto pair = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(pair.first - a.begin());
}

}  // namespace

MovingAxes::MovingAxes(const Spec& from, const Spec& to, const Mesh& mesh, const DimSizes& sizes,
                       const AxisNames& borrowed)
    : from_(from), to_(to) {
  std::set<std::string> moving(borrowed.begin(), borrowed.end());
  for (const SpecDim& dim : from.dims()) {
    const AxisNames& after = to.AxesOf(dim.name);
    kept_.push_back(InCommon(dim.axes, after));
    const auto kept = static_cast<std::ptrdiff_t>(kept_.back());
    moving.insert(dim.axes.begin() + kept, dim.axes.end());
    moving.insert(after.begin() + kept, after.end());
    // Rank 0 holds the first of the blocks that stay, which is a longest one.
    std::int64_t size = sizes.find(dim.name)->second;
    for (auto axis = after.begin(); axis != after.begin() + kept; ++axis) {
      size = SplitEvenly(size, mesh.AxisSize(*axis), 0).size;
    }
    sizes_.push_back(size);
  }
  for (const std::string& axis : from.partial()) {
    if (!to.IsPartial(axis)) moving.insert(axis);
  }
  names_.assign(moving.begin(), moving.end());
  for (const std::string& axis : names_) ranks_.push_back(mesh.AxisSize(axis));
  FindEvenness(Number(names_.begin(), names_.end()), 1);
}

AxisRun MovingAxes::Number(AxisNames::const_iterator begin, AxisNames::const_iterator end) const {
  AxisRun run;
  for (; begin != end; ++begin) {
    const auto at = std::find(names_.begin(), names_.end(), *begin);
    if (at != names_.end()) run.Add(static_cast<std::uint8_t>(at - names_.begin()));
  }
  return run;
}

AxisNames MovingAxes::NamesOf(const AxisRun& run) const {
  AxisNames names;
  for (const std::uint8_t axis : run) names.push_back(names_[axis]);
  return names;
}

Layout MovingAxes::LayoutOf(const Spec& spec) const {
  Layout layout;
  for (std::size_t d = 0; d < kept_.size(); ++d) {
    const AxisNames& axes = spec.AxesOf(from_.dims()[d].name);
    layout.dims.push_back(Number(axes.begin() + static_cast<std::ptrdiff_t>(kept_[d]), axes.end()));
  }
  layout.sums = Number(spec.partial().begin(), spec.partial().end());
  return layout;
}

// Axes that neither split a dimension nor are a sum are idle.
LayoutCode MovingAxes::Encode(const Layout& layout) const {
  LayoutCode code;
  for (std::size_t a = 0; a < names_.size(); ++a) code.Put(a, LayoutCode::kIdle, 0);
  for (std::size_t d = 0; d < layout.dims.size(); ++d) code.PutRun(layout.dims[d], d, 0);
  code.PutAside(layout.sums, LayoutCode::kSum);
  return code;
}

void MovingAxes::Decode(LayoutCode code, Layout& layout) const {
  layout.dims.assign(sizes_.size(), AxisRun());
  layout.sums = layout.idle = AxisRun();
  for (std::size_t position = 0; position < names_.size(); ++position) {
    for (std::size_t a = 0; a < names_.size(); ++a) {
      if (code.PositionOf(a) != position) continue;
      const std::size_t place = code.PlaceOf(a);
      AxisRun& run = place == LayoutCode::kSum    ? layout.sums
                     : place == LayoutCode::kIdle ? layout.idle
                                                  : layout.dims[place];
      run.Add(static_cast<std::uint8_t>(a));
    }
  }
}

Spec MovingAxes::SpecOf(LayoutCode code) const {
  Layout layout;
  Decode(code, layout);
  std::vector<SpecDim> dims = from_.dims();
  for (std::size_t d = 0; d < dims.size(); ++d) {
    dims[d].axes.resize(kept_[d]);
    const AxisNames moved = NamesOf(layout.dims[d]);
    dims[d].axes.insert(dims[d].axes.end(), moved.begin(), moved.end());
  }
  AxisNames partial = to_.partial();
  const AxisNames sums = NamesOf(layout.sums);
  partial.insert(partial.end(), sums.begin(), sums.end());
  return *Spec::Create(from_.name(), std::move(dims), std::move(partial));
}

// Splits the last of the blocks, number `first`, by `axes`, major to minor.
void MovingAxes::SplitBy(const AxisRun& axes, std::size_t first, std::vector<Block>& blocks) const {
  for (const std::uint8_t axis : axes) {
    const std::int64_t ranks = RanksAlong(axis);
    const std::size_t before = blocks.size() - first;
    blocks.resize(first + before * static_cast<std::size_t>(ranks));
    for (std::size_t i = before; i-- > 0;) {  // from the end on each has room behind it
      const Block block = blocks[first + i];
      std::size_t at = first + i * static_cast<std::size_t>(ranks);
      for (std::int64_t k = 0; k < ranks; ++k) {
        const Block part = SplitEvenly(block.size, ranks, k);
        blocks[at++] = {block.begin + part.begin, part.size};
      }
    }
  }
}

// As MeanExchanged where all blocks are equal and each dimension has as many before and after: a
// member keeps all or, where the number of its block of one dimension differs, nothing.
std::int64_t MovingAxes::MeanExchangedWhole(const Layout& from, const Layout& to,
                                            const AxisRun& axes) const {
  using Places = std::array<std::int64_t, 2 * kMostMovingAxes>;  // in the dimensions that change
  std::array<Places, kMostMovingAxes> steps{};  // along each axis: place before less place after
  std::size_t count = 0;
  for (std::size_t d = 0; d < sizes_.size(); ++d) {
    if (from.dims[d] == to.dims[d]) continue;
    const auto add = [&](const AxisRun& run, std::int64_t sign) {
      for (std::size_t i = run.size(); i-- > 0; sign *= RanksAlong(run[i])) {
        steps[run[i]][count] += sign;
      }
    };
    add(from.dims[d], 1);
    add(to.dims[d], -1);
    ++count;
  }
  std::array<std::int64_t, kMostMovingAxes> coordinate{};
  Places apart{};
  std::int64_t moved = 0;  // members
  const std::int64_t members = Parts(axes);
  for (std::int64_t k = 0; k < members; ++k) {
    const auto end = apart.begin() + static_cast<std::ptrdiff_t>(count);
    const bool moves = std::any_of(apart.begin(), end, [](std::int64_t by) { return by != 0; });
    moved += moves ? 1 : 0;
    for (std::size_t a = axes.size(); a-- > 0;) {
      const std::uint8_t axis = axes[a];
      const bool is_last = ++coordinate[axis] == RanksAlong(axis);
      const std::int64_t by = is_last ? 1 - RanksAlong(axis) : 1;
      for (std::size_t i = 0; i < count; ++i) apart[i] += by * steps[axis][i];
      if (!is_last) break;
      coordinate[axis] = 0;
    }
  }
  return (moved * Elements(to) + members - 1) / members;
}

std::int64_t MovingAxes::MeanExchanged(const Layout& from, const Layout& to, const AxisRun& axes,
                                       std::vector<Block>& blocks) const {
  const auto has_as_many = [this](const AxisRun& a, const AxisRun& b) {
    return Parts(a) == Parts(b);
  };
  const bool is_whole = evenness_ == 1 && std::equal(from.dims.begin(), from.dims.end(),
                                                     to.dims.begin(), has_as_many);
  if (is_whole) return MeanExchangedWhole(from, to, axes);
  // The blocks of a dimension, and which of them the member that is looked at has.
  struct Side {
    std::size_t at = 0;
    std::array<std::size_t, kMostMovingAxes> strides{};  // by axis
  };
  std::array<Side, 4 * kMostMovingAxes> sides;  // before, after, before, ... of two dims an axis
  std::size_t count = 0;
  blocks.clear();
  const auto add = [&](std::int64_t size, const AxisRun& run) {
    Side& side = sides[count++];
    side = {blocks.size(), {}};
    blocks.push_back({0, size});
    SplitBy(run, side.at, blocks);
    std::size_t stride = 1;
    for (std::size_t i = run.size(); i-- > 0;) {
      side.strides[run[i]] = stride;
      stride *= static_cast<std::size_t>(RanksAlong(run[i]));
    }
  };
  std::int64_t alike = 1;  // elements along dimensions that stay as they are
  for (std::size_t d = 0; d < sizes_.size(); ++d) {
    if (from.dims[d] == to.dims[d]) {
      const std::int64_t parts = Parts(from.dims[d]);
      alike *= (sizes_[d] + parts - 1) / parts;
    } else {
      add(sizes_[d], from.dims[d]);
      add(sizes_[d], to.dims[d]);
    }
  }
  std::array<std::int64_t, kMostMovingAxes> coordinate{};
  std::int64_t moved = 0;
  const std::int64_t members = Parts(axes);
  for (std::int64_t k = 0; k < members; ++k) {
    std::int64_t wanted = alike;
    std::int64_t held = alike;
    for (std::size_t i = 0; i < count; i += 2) {
      const Block& after = blocks[sides[i + 1].at];
      wanted *= after.size;
      if (held > 0) held *= Common(blocks[sides[i].at], after).size;
    }
    moved += wanted - held;
    for (std::size_t a = axes.size(); a-- > 0;) {
      const std::uint8_t axis = axes[a];
      const bool is_last = ++coordinate[axis] == RanksAlong(axis);
      for (std::size_t i = 0; i < count; ++i) {
        Side& side = sides[i];
        side.at += side.strides[axis];
        if (is_last) side.at -= side.strides[axis] * static_cast<std::size_t>(RanksAlong(axis));
      }
      if (!is_last) break;
      coordinate[axis] = 0;
    }
  }
  return (moved + members - 1) / members;
}

void MovingAxes::FindEvenness(const AxisRun& axes, std::int64_t parts) {
  for (const std::int64_t size : sizes_) evenness_ = std::min(evenness_, Evenness(size, parts));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    FindEvenness(axes.From(i + 1), parts * RanksAlong(axes[i]));
  }
}

}  // namespace chorus
