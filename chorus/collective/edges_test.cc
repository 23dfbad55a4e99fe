// What goes from rank to rank in a call whose algorithm is forced is what the algorithm's schedule
// sends: by channels, by lanes, by stages, and where buffers are mapped and no message is sent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "chorus/algorithm/algorithm.h"
#include "chorus/collective/call_case_test.h"
#include "chorus/collective/group.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/mesh/spec.h"
#include "chorus/schedule/expansion.h"
#include "chorus/transport/watched/edge_recorder.h"
#include "chorus/transport/watched/watched_transport.h"

namespace chorus {
namespace {

using Edges = EdgeRecorder::Edges;

std::string Text(const Edges& edges) {
  std::string text;
  for (const auto& [edge, bytes] : edges) {
    text += fmt::format("{} {} {}\n", edge.first, edge.second, bytes);
  }
  return text;
}

void Add(const std::string& text, Edges& edges) {
  std::istringstream in(text);
  int from = 0;
  int to = 0;
  std::int64_t bytes = 0;
  while (in >> from >> to >> bytes) edges[{from, to}] += bytes;
}

// What a schedule sends for a call of even blocks.
Edges EdgesOf(const Algorithm& algorithm, const CallCase& c) {
  const Expansion expansion = Expand(algorithm.Build(), c.n, c.root).value();
  const std::int64_t blocks = expansion.frames[0].blocks;
  const auto elements_of = [&](std::int64_t block) {
    const bool is_given = HasOwners(c.op) || c.op == OpKind::kAllToAll;
    return is_given ? c.counts[0] : SplitEvenly(c.total(), blocks, block).size;
  };
  Edges edges;
  for (int rank = 0; rank < c.n; ++rank) {
    for (const Step& step : expansion.ranks[static_cast<std::size_t>(rank)]) {
      if (step.verb != Verb::kSend) continue;
      std::int64_t& bytes = edges[{rank, static_cast<int>(step.peer)}];
      for (const Chunk& chunk : step.chunks) {
        const DType dtype = HoldsAccumulators(chunk.buffer) ? AccumulatorOf(c.dtype) : c.dtype;
        bytes += elements_of(chunk.block) * SizeOf(dtype);
      }
    }
  }
  return edges;
}

struct Way {
  std::string name;
  RankKind kind;
  bool lanes, mapped, is_symmetric;
};
const Way kWays[] = {
    {"channels", RankKind::kThreads, false, false, false},
    {"lanes", RankKind::kThreads, true, false, false},
    {"mapped_threads", RankKind::kThreads, true, true, false},
    {"stages", RankKind::kProcesses, true, true, false},
    {"mapped_processes", RankKind::kProcesses, true, true, true},
};

class SomeMemory final : public TestMemory {
 public:
  SomeMemory(Group& group, bool is_symmetric) : group_(group), is_symmetric_(is_symmetric) {}
  std::shared_ptr<std::byte[]> Take(std::int64_t bytes) override {
    if (!is_symmetric_) {
      return std::shared_ptr<std::byte[]>(new std::byte[static_cast<std::size_t>(bytes)]);
    }
    std::shared_ptr<void> memory = group_.AllocateReachable(bytes).value();
    auto* const data = static_cast<std::byte*>(memory.get());
    return {std::move(memory), data};
  }

 private:
  Group& group_;
  const bool is_symmetric_;
};

CallCase CaseFor(const Algorithm& algorithm, int n, DType dtype, std::int64_t total) {
  CallCase c;
  c.op = algorithm.op;
  c.algorithm = std::string(algorithm.name);
  c.dtype = dtype;
  c.n = n;
  c.counts = EvenCounts(c.op, n, total);
  c.root = HasRoot(c.op) ? n - 1 : 0;
  return c;
}

class EdgesTest : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, EdgesTest, testing::ValuesIn(kWays),
                         [](const auto& test) { return test.param.name; });

struct Recorded {
  std::vector<Edges> edges;  // of each case, all ranks together
  std::int64_t read = 0;     // bytes that went through the kernel
  bool can_read = true;      // every rank the memory of every other
};

Result<Recorded> Record(const Way& way, int n, const std::vector<CallCase>& cases) {
  // By rank, of which each thread and each process uses its own.
  std::vector<EdgeRecorder> recorders;
  std::vector<std::int64_t> read(static_cast<std::size_t>(n), 0);
  std::vector<Transport*> transports(static_cast<std::size_t>(n), nullptr);
  for (int rank = 0; rank < n; ++rank) recorders.emplace_back(rank);
  JoinOptions options;
  options.timeout = std::chrono::seconds(20);
  options.channel_bytes = 4096;
  options.use_lanes = way.lanes;
  options.use_mapped = way.mapped;
  options.wrap = [&](std::unique_ptr<Transport> inner) {
    const auto rank = static_cast<std::size_t>(inner->rank());
    transports[rank] = inner.get();
    return WatchTransport(std::move(inner), [&, rank](const TransportPoint& point) {
      recorders[rank].See(point);
      if (point.kind == TransportPoint::Kind::kRead) read[rank] += point.bytes;
    });
  };
  // Each rank gives back a text for each case, and last what it has read and can.
  CHORUS_ASSIGN_OR_RETURN(const auto results,
                          CollectFromRanks(
                              n, way.kind,
                              [&](Group& group) -> Result<std::string> {
                                const auto rank = static_cast<std::size_t>(group.rank());
                                SomeMemory memory(group, way.is_symmetric);
                                std::string text;
                                for (const CallCase& c : cases) {
                                  CHORUS_RETURN_IF_ERROR(group.Barrier());
                                  recorders[rank].Clear();
                                  CallRun run(c, group.rank(), memory, memory);
                                  run.Begin(group, false);
                                  CHORUS_RETURN_IF_ERROR(run.End());
                                  text += Text(recorders[rank].edges()) + "/";
                                }
                                bool can_read = true;
                                for (int peer = 0; peer < n; ++peer) {
                                  if (peer != group.rank())
                                    can_read = can_read && transports[rank]->CanRead(peer);
                                }
                                return text + fmt::format("{} {:d}", read[rank], can_read);
                              },
                              options));
  Recorded all;
  all.edges.resize(cases.size());
  for (const std::string& result : results) {
    std::istringstream text(result);
    for (Edges& edges : all.edges) {
      std::string one;
      std::getline(text, one, '/');
      Add(one, edges);
    }
    std::int64_t bytes = 0;
    bool can_read = false;
    text >> bytes >> can_read;
    all.read += bytes;
    all.can_read = all.can_read && can_read;
  }
  return all;
}

TEST_P(EdgesTest, AreThoseOfTheScheduleThatWasAskedFor) {
  for (const int n : {2, 3, 4, 6}) {
    std::vector<CallCase> cases;
    std::vector<const Algorithm*> algorithms;
    for (const Algorithm& algorithm : AllAlgorithms()) {
      for (const DType dtype : {DType::kF32, DType::kBF16}) {
        for (const std::int64_t total : {7, 5000}) {
          if (!algorithm.Fits(n).ok()) continue;
          cases.push_back(
              CaseFor(algorithm, n, dtype, algorithm.op == OpKind::kBarrier ? 0 : total));
          algorithms.push_back(&algorithm);
        }
      }
    }
    const auto recorded = Record(GetParam(), n, cases);
    ASSERT_TRUE(recorded.ok()) << n << ": " << recorded.status().message();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      EXPECT_EQ(Text(recorded->edges[i]), Text(EdgesOf(*algorithms[i], cases[i])))
          << cases[i].ToString();
    }
    EXPECT_EQ(recorded->read, 0) << "too short to be read";
  }
}

TEST(ReadEdgesTest, WhatIsReadThroughTheKernelIsOnEdgesToo) {
  const Way way = {"read", RankKind::kProcesses, true, true, false};
  for (const OpKind op : {OpKind::kScatter, OpKind::kAllToAll}) {
    for (const int n : {2, 3}) {
      std::vector<CallCase> cases;
      std::vector<const Algorithm*> algorithms;
      for (const Algorithm* algorithm : AlgorithmsFor(op)) {
        if (!algorithm->Fits(n).ok()) continue;
        cases.push_back(CaseFor(*algorithm, n, DType::kF32, std::int64_t{160} << 10));
        algorithms.push_back(algorithm);
      }
      const auto recorded = Record(way, n, cases);
      ASSERT_TRUE(recorded.ok()) << n << ": " << recorded.status().message();
      for (std::size_t i = 0; i < cases.size(); ++i) {
        EXPECT_EQ(Text(recorded->edges[i]), Text(EdgesOf(*algorithms[i], cases[i])))
            << cases[i].ToString();
      }
      EXPECT_EQ(recorded->read > 0, recorded->can_read);
    }
  }
}

}  // namespace
}  // namespace chorus
