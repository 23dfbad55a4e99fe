#include "chorus/program/pieces.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace chorus {

std::vector<std::int64_t> RanksLookedAt(std::int64_t count) {
  const std::int64_t looked_at = std::min(count, kRanksLookedAt);
  std::vector<std::int64_t> ranks;
  for (std::int64_t k = 0; k < looked_at; ++k) ranks.push_back(k * count / looked_at);
  return ranks;
}

Block Common(const Block& a, const Block& b) {
  const std::int64_t begin = std::clamp(b.begin, a.begin, a.begin + a.size);
  return {begin, std::clamp(b.begin + b.size, begin, a.begin + a.size) - begin};
}

namespace {

using Box = std::vector<Block>;  // one block a dimension

Box BoxOf(const Spec& spec, const Mesh& mesh, const DimSizes& sizes, std::int64_t rank) {
  Box box;
  for (const SpecDim& dim : spec.dims()) {
    box.push_back(BlockOf(dim.axes, mesh, sizes.find(dim.name)->second, rank));
  }
  return box;
}

// What two boxes have in common.
Box Common(const Box& a, const Box& b) {
  Box common;
  for (std::size_t d = 0; d < a.size(); ++d) common.push_back(Common(a[d], b[d]));
  return common;
}

// Those of `axes` that split no dimension of `spec`.
AxisNames Idle(const Spec& spec, const AxisNames& axes) {
  AxisNames idle;
  for (const std::string& axis : axes) {
    if (!spec.Uses(axis)) idle.push_back(axis);
  }
  return idle;
}

class PieceList {
 public:
  // The pieces lie in an array that holds `box`.
  explicit PieceList(const Box& box) : box_(box) {
    std::vector<std::int64_t> sizes;
    for (const Block& block : box) sizes.push_back(block.size);
    pieces_.whole = Shape(std::move(sizes));
    pieces_.are_runs = true;
  }

  void Add(const Box& part) {
    Box local;
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < part.size(); ++d) {
      local.push_back({part[d].begin - box_[d].begin, part[d].size});
      elements *= part[d].size;
    }
    if (elements == 0) local.assign(part.size(), Block{});
    pieces_.are_runs = pieces_.are_runs && (elements == 0 || BeginsRunAt(local, end_));
    end_ += elements;
    pieces_.at.push_back(std::move(local));
    pieces_.counts.push_back(elements);
  }
  void AddNothing() { Add(Box(box_.size())); }

  Pieces Take() { return std::move(pieces_); }

 private:
  // True if the piece is one run of memory that begins at element `position`.
  bool BeginsRunAt(const Box& piece, std::int64_t position) const {
    const Shape& whole = pieces_.whole;
    std::int64_t begin = 0;
    bool split = false;  // a dimension before has more than one index
    bool is_run = true;
    for (int d = 0; d < whole.rank(); ++d) {
      const Block& block = piece[static_cast<std::size_t>(d)];
      begin += block.begin * whole.elements(d + 1, whole.rank());
      is_run = is_run && (!split || block.size == whole[d]);
      split = split || block.size > 1;
    }
    return is_run && begin == position;
  }

  const Box& box_;
  Pieces pieces_;
  std::int64_t end_ = 0;
};

}  // namespace

std::int64_t Pieces::elements() const {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

std::int64_t BlockExchange::WorkspaceElements() const {
  return (sends.are_runs ? 0 : sends.elements()) + (receives.are_runs ? 0 : receives.elements());
}

namespace {

// What a rank of the group holds and wants, and the number of its copy of either.
struct Member {
  Box held;
  Box wanted;
  std::int64_t copy_held = 0;
  std::int64_t copy_wanted = 0;
};

std::vector<Member> MembersOf(const Spec& from, const Spec& to, const AxisNames& axes,
                              const Mesh& mesh, const DimSizes& sizes,
                              const std::vector<std::int64_t>& group) {
  const AxisNames idle_before = Idle(from, axes);
  const AxisNames idle_after = Idle(to, axes);
  assert(mesh.GroupSize(idle_before) == mesh.GroupSize(idle_after));
  std::vector<Member> members;
  members.reserve(group.size());
  for (const std::int64_t rank : group) {
    members.push_back({BoxOf(from, mesh, sizes, rank), BoxOf(to, mesh, sizes, rank),
                       mesh.IndexInGroup(rank, idle_before), mesh.IndexInGroup(rank, idle_after)});
  }
  return members;
}

// Whether `to` has from `from` what both have in common: from itself if it holds that, else from
// the one whose copy has the number that its own will have.
bool Serves(const Member& from, const Member& to) {
  if (from.held == to.held) return &from == &to;
  return from.copy_held == to.copy_wanted;
}

std::int64_t ElementsInCommon(const Box& a, const Box& b) {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < a.size(); ++d) elements *= Common(a[d], b[d]).size;
  return elements;
}

}  // namespace

BlockExchange ExchangeOf(const Spec& from, const Spec& to, const AxisNames& axes, const Mesh& mesh,
                         const DimSizes& sizes, std::int64_t rank) {
  const std::vector<Member> members =
      MembersOf(from, to, axes, mesh, sizes, mesh.Group(rank, axes));
  const Member& self = members[static_cast<std::size_t>(mesh.IndexInGroup(rank, axes))];
  PieceList sends(self.held);
  PieceList receives(self.wanted);
  for (const Member& member : members) {
    if (Serves(self, member)) {
      sends.Add(Common(self.held, member.wanted));
    } else {
      sends.AddNothing();
    }
    if (Serves(member, self)) {
      receives.Add(Common(member.held, self.wanted));
    } else {
      receives.AddNothing();
    }
  }
  return {sends.Take(), receives.Take()};
}

std::int64_t MostElementsSent(const Spec& from, const Spec& to, const AxisNames& axes,
                              const Mesh& mesh, const DimSizes& sizes) {
  const std::vector<Member> members = MembersOf(from, to, axes, mesh, sizes, mesh.Group(0, axes));
  std::int64_t most = 0;
  for (const std::int64_t k : RanksLookedAt(std::ssize(members))) {
    const Member& self = members[static_cast<std::size_t>(k)];
    std::int64_t sent = 0;
    for (const Member& member : members) {
      if (&member != &self && Serves(self, member)) {
        sent += ElementsInCommon(self.held, member.wanted);
      }
    }
    most = std::max(most, sent);
  }
  return most;
}

}  // namespace chorus
