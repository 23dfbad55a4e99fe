#include "chorus/verify/happens_before.h"

#include <fmt/format.h>

#include <algorithm>

#include "chorus/verify/locations.h"

namespace chorus {
namespace {

// One row of bits per node.
class BitRows {
 public:
  BitRows(std::int64_t rows, std::int64_t bits) : words_((bits + 63) / 64), bits_(rows * words_) {}

  void Set(std::int64_t row, std::int64_t bit) {
    bits_[row * words_ + bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  bool Test(std::int64_t row, std::int64_t bit) const {
    return (bits_[row * words_ + bit / 64] >> (bit % 64) & 1) != 0;
  }
  void Join(std::int64_t row, std::int64_t other) {
    for (std::int64_t i = 0; i < words_; ++i) bits_[row * words_ + i] |= bits_[other * words_ + i];
  }

 private:
  std::int64_t words_;
  std::vector<std::uint64_t> bits_;
};

struct Access {
  std::int64_t index;  // of the step on its rank
  bool write;
};

// The accesses of one rank, by location, in listing order.
std::vector<std::vector<Access>> AccessesOf(const std::vector<Step>& steps,
                                            const Locations& locations) {
  std::vector<std::vector<Access>> accesses(locations.count());
  for (std::int64_t i = 0; i < std::ssize(steps); ++i) {
    if (locations.IsIdle(steps[i])) continue;
    for (const Chunk& c : Locations::Reads(steps[i])) {
      accesses[locations.Of(c)].push_back({i, false});
    }
    for (const Chunk& c : Locations::Writes(steps[i])) {
      accesses[locations.Of(c)].push_back({i, true});
    }
  }
  return accesses;
}

// Row n: the steps of `rank` that happen before node n, or are node n.
BitRows StepsBefore(const StepGraph& graph, std::int64_t rank) {
  const std::int64_t first = graph.first(rank), end = graph.first(rank + 1);
  BitRows before(graph.size(), end - first);
  for (std::int64_t node : graph.order()) {
    for (std::int64_t b : graph.Before(node)) before.Join(node, b);
    if (graph.rank(node) == rank) before.Set(node, node - first);
  }
  return before;
}

}  // namespace

// Only steps of one rank can touch the same memory, so one rank's steps at a time are followed
// through the whole graph: N passes over it with rows of as many bits as a rank has steps.
std::optional<Fault> FindRace(const Expansion& e, const StepGraph& graph, bool in_place,
                              std::int64_t& pairs) {
  for (std::int64_t rank = 0; rank < e.group_size; ++rank) {
    const std::int64_t first = graph.first(rank);
    const BitRows before = StepsBefore(graph, rank);
    const auto ordered = [&](std::int64_t a, std::int64_t b) {
      return before.Test(first + b, a) || before.Test(first + a, b);
    };
    for (const auto& accesses : AccessesOf(e.ranks[rank], Locations(e.frames[rank], in_place))) {
      for (std::size_t j = 0; j < accesses.size(); ++j) {
        for (std::size_t i = 0; i < j; ++i) {
          const Access& a = accesses[i];
          const Access& b = accesses[j];
          if (!a.write && !b.write) continue;
          ++pairs;
          if (a.index == b.index ? !(a.write && b.write) : ordered(a.index, b.index)) continue;
          if (a.index == b.index) {
            return graph.FaultAt(first + b.index, "it writes the same memory twice",
                                 "different memory for each chunk");
          }
          return graph.FaultAt(
              first + b.index,
              fmt::format("it {} memory that {} {}, and neither comes after the other{}",
                          b.write ? "writes" : "reads", e.ranks[rank][a.index].label,
                          a.write ? "writes" : "reads", in_place ? " (in place)" : ""),
              fmt::format("one of them after the other, directly or through messages"));
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<Fault> FindEarlyExit(const Expansion& e, const StepGraph& graph) {
  // Row n: the ranks that have begun before node n ends.
  BitRows begun(graph.size(), e.group_size);
  for (std::int64_t node : graph.order()) {
    begun.Set(node, graph.rank(node));
    for (std::int64_t b : graph.Before(node)) begun.Join(node, b);
  }
  for (std::int64_t rank = 0; rank < e.group_size; ++rank) {
    for (std::int64_t other = 0; other < e.group_size; ++other) {
      bool heard = other == rank;
      for (std::int64_t n = graph.first(rank); n < graph.first(rank + 1); ++n) {
        heard = heard || begun.Test(n, other);
      }
      if (heard) continue;
      return Fault{rank, "the end",
                   fmt::format("it can be reached before rank {} has begun", other),
                   "a chain of messages from every rank"};
    }
  }
  return std::nullopt;
}

}  // namespace chorus
