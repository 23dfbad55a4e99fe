#include "chorus/program/chunk_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chorus/mesh/notation.h"

namespace chorus {
namespace {

std::size_t PlaceOf(const ChunkSet& set, int turn, int part) {
  return static_cast<std::size_t>(turn) * static_cast<std::size_t>(set.parts) +
         static_cast<std::size_t>(part);
}

// The member of rank's group over `axes` that is `turns` further on, round the group.
std::int64_t MemberTurned(const Mesh& mesh, std::int64_t rank, const AxisNames& axes, int turns) {
  std::vector<std::int64_t> coordinates = mesh.Coordinates(rank);
  std::int64_t carry = turns;
  for (std::size_t i = axes.size(); i-- > 0;) {
    std::size_t at = 0;
    while (mesh.axes()[at].name != axes[i]) ++at;
    const std::int64_t sum = coordinates[at] + carry;
    coordinates[at] = sum % mesh.axes()[at].size;
    carry = sum / mesh.axes()[at].size;
  }
  return mesh.RankOf(coordinates);
}

bool IsBit(char c) { return c == '0' || c == '1'; }

}  // namespace

ChunkSet ChunkSet::Of(std::string dim, AxisNames axes, int turns, int parts, int turn, int first,
                      int count) {
  ChunkSet set{std::move(dim), std::move(axes), turns, parts, {}};
  set.has.assign(PlaceOf(set, turns, 0), false);
  for (int part = first; part < first + count; ++part) set.has[PlaceOf(set, turn, part)] = true;
  return set;
}

int ChunkSet::size() const { return static_cast<int>(std::count(has.begin(), has.end(), true)); }

bool ChunkSet::IsOwnBlock() const { return *this == Of(dim, axes, turns, parts, 0, 0, parts); }

ChunkSet ChunkSet::Turned(int by) const {
  ChunkSet turned = *this;
  for (int turn = 0; turn < turns; ++turn) {
    const int to = ((turn + by) % turns + turns) % turns;
    for (int part = 0; part < parts; ++part) turned.has[PlaceOf(*this, to, part)] = Has(turn, part);
  }
  return turned;
}

ChunkSet ChunkSet::With(const ChunkSet& other) const {
  ChunkSet both = *this;
  for (std::size_t i = 0; i < has.size(); ++i) both.has[i] = has[i] || other.has[i];
  return both;
}

ChunkSet ChunkSet::Without(const ChunkSet& other) const {
  ChunkSet rest = *this;
  for (std::size_t i = 0; i < has.size(); ++i) rest.has[i] = has[i] && !other.has[i];
  return rest;
}

bool ChunkSet::Overlaps(const ChunkSet& other) const {
  for (std::size_t i = 0; i < has.size(); ++i) {
    if (has[i] && other.has[i]) return true;
  }
  return false;
}

std::string ChunkSet::ToString() const {
  std::string text = axes.empty() ? dim : fmt::format("{}_{}", dim, JoinAxes(axes));
  for (int turn = 0; turn < turns; ++turn) {
    text += ' ';
    for (int part = 0; part < parts; ++part) text += Has(turn, part) ? '1' : '0';
  }
  return text;
}

Result<ChunkSet> ScanChunkSet(Scanner& scanner) {
  ChunkSet set;
  scanner.Peek();
  set.dim = std::string(ScanDimName(scanner));
  if (set.dim.empty()) {
    return scanner.Error(
        "a dimension is expected here, with axes like J_X 00 01 or without like J 0100");
  }
  if (scanner.Accept("_")) {
    CHORUS_ASSIGN_OR_RETURN(set.axes, ScanAxes(scanner));
  }
  while (IsBit(scanner.Peek())) {
    const std::size_t begin = scanner.position();
    const std::string_view bits = scanner.TakeWhile(IsBit);
    if (set.turns > 0 && static_cast<std::size_t>(set.parts) != bits.size()) {
      return scanner.ErrorAt(begin, "each turn has as many chunks as the first");
    }
    set.parts = static_cast<int>(bits.size());
    set.turns += 1;
    for (const char bit : bits) set.has.push_back(bit == '1');
  }
  if (set.axes.empty() && set.turns != 1) {
    return scanner.Error("panels are of one turn: one group of digits is expected here, like 0100");
  }
  if (!set.axes.empty() && set.turns < 2) {
    return scanner.Error("chunks of two turns or more are expected here, like 00 01");
  }
  return set;
}

Result<ChunkRun> RunOf(const ChunkSet& set) {
  ChunkRun run;
  for (int turn = 0; turn < set.turns; ++turn) {
    for (int part = 0; part < set.parts; ++part) {
      if (!set.Has(turn, part)) continue;
      if (run.count > 0 && (run.turn != turn || run.first + run.count != part)) {
        return InvalidArgument(fmt::format(
            "{} is not chunks that are next to each other in one block", set.ToString()));
      }
      if (run.count == 0) run = {turn, part, 0};
      run.count += 1;
    }
  }
  if (run.count == 0) return InvalidArgument(fmt::format("{} has no chunk", set.ToString()));
  return run;
}

Block BlockOf(const ChunkSet& set, const AxisNames& outer, const Mesh& mesh, std::int64_t size,
              std::int64_t rank) {
  const ChunkRun run = *RunOf(set);
  AxisNames axes = outer;
  axes.insert(axes.end(), set.axes.begin(), set.axes.end());
  const std::int64_t member = MemberTurned(mesh, rank, set.axes, run.turn);
  const Block block = BlockOf(axes, mesh, size, member);
  const Block first = SplitEvenly(block.size, set.parts, run.first);
  const Block last = SplitEvenly(block.size, set.parts, run.first + run.count - 1);
  return {block.begin + first.begin, last.begin + last.size - first.begin};
}

}  // namespace chorus
