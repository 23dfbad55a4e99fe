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

// The block of dimension `d` of the member of rank 0's group with these coordinates by axis.
Block MovingAxes::BlockAt(std::size_t d, const AxisRun& axes, const Coordinates& coordinate) const {
  Block block{0, sizes_[d]};
  for (const std::uint8_t axis : axes) {
    const Block inner = SplitEvenly(block.size, RanksAlong(axis), coordinate[axis]);
    block = {block.begin + inner.begin, inner.size};
  }
  return block;
}

std::int64_t MovingAxes::MeanExchanged(const Layout& from, const Layout& to,
                                       const AxisRun& axes) const {
  Coordinates coordinate{};
  std::int64_t moved = 0;
  const std::int64_t members = Parts(axes);
  for (std::int64_t k = 0; k < members; ++k) {
    std::int64_t wanted = 1;
    std::int64_t held = 1;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      const Block before = BlockAt(d, from.dims[d], coordinate);
      const Block after = BlockAt(d, to.dims[d], coordinate);
      wanted *= after.size;
      held *= Common(before, after).size;
    }
    moved += wanted - held;
    for (std::size_t a = axes.size(); a-- > 0;) {
      std::int64_t& c = coordinate[axes[a]];
      if (++c < RanksAlong(axes[a])) break;
      c = 0;
    }
  }
  return (moved + members - 1) / members;
}

void MovingAxes::FindEvenness(const AxisRun& axes, std::int64_t parts) {
  for (const std::int64_t size : sizes_) {
    if (size == 0) continue;
    const std::int64_t largest = (size + parts - 1) / parts;
    evenness_ = std::min(evenness_, static_cast<double>(size) / (static_cast<double>(parts) *
                                                                 static_cast<double>(largest)));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    FindEvenness(axes.From(i + 1), parts * RanksAlong(axes[i]));
  }
}

}  // namespace chorus
