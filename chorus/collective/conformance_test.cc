// The conformance matrix: transport x ranks x path x call (operation, variant, algorithm) x dtype x
// reduction x size x in place x sync or async, each result compared with the definition of its
// operation, the bytes that were counted with those of its schedule.
//
// The matrix has some 10^7 valid rows. What runs is a covering array, another one every day: all
// pairs of factors, and all triples of call, path and size.
//
//   CHORUS_SEED=20423            the rows of that day
//   CHORUS_CONFORMANCE=500       so many of the rows
//   CHORUS_CONFORMANCE=whole     the whole matrix; takes hours
//   CHORUS_CONFORMANCE=3/40      each 40th row of the whole, from the third on; so in 40 parts
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chorus/algorithm/algorithm.h"
#include "chorus/algorithm/choices.h"
#include "chorus/collective/call_case_test.h"
#include "chorus/collective/covering_array_test.h"
#include "chorus/collective/group.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/collective/seed_test.h"
#include "chorus/collective/tuning.h"
#include "chorus/mesh/spec.h"
#include "chorus/schedule/bytes.h"
#include "chorus/transport/inbox.h"

namespace chorus {
namespace {

constexpr int kMaxRanks = 8;

// An operation, its variant, and the algorithm by name or as the group chooses.
struct CallKind {
  OpKind op;
  bool by_counts;
  const Algorithm* algorithm;  // null: chosen
};

std::vector<CallKind> AllCallKinds() {
  std::vector<CallKind> kinds;
  for (const OpKind op : kAllOpKinds) {
    kinds.push_back({op, false, nullptr});
    for (const Algorithm* algorithm : AlgorithmsFor(op)) kinds.push_back({op, false, algorithm});
    if (!HasOwners(op) && op != OpKind::kAllToAll) continue;
    kinds.push_back({op, true, nullptr});
    const bool is_private = op != OpKind::kAllGather && op != OpKind::kReduceScatter;
    for (const Algorithm* algorithm : AlgorithmsFor(op)) {
      // Others pass on blocks whose sizes only their senders know, and are refused.
      if (is_private && algorithm != &AlgorithmForPrivateCounts(op)) continue;
      kinds.push_back({op, true, algorithm});
    }
  }
  return kinds;
}

// How bytes may go: by channels alone, with lanes, with mapped memory but no stages, in every way;
// and in every way from memory that some or all ranks can reach.
enum class Path { kChannels, kLanes, kUnstaged, kOrdinary, kSymmetric, kMixed };
constexpr std::string_view kPathNames[] = {"channels", "lanes",     "unstaged",
                                           "ordinary", "symmetric", "mixed"};

// Totals of elements, by ranks; the last three around a switch point.
enum class Size { kZero, kOne, kTwo, kBelowN, kN, kAboveN, kThousand, kBelow, kAt, kAbove };

enum class Mode { kSync, kAsync, kInFlight };

enum Factor : int { kTransport, kRanks, kPath, kKind, kDType, kReduction, kSize, kInPlace, kMode };
constexpr int kFactors = 9;

// Bytes at which a call of n ranks goes another way: another algorithm by the built-in rule, a lane
// or not, mapped or not, a line or more, one tile or several, read by the kernel or not.
std::vector<std::int64_t> SwitchPoints(OpKind op, int n) {
  std::vector<std::int64_t> points = {LaneLine::kPayload, std::int64_t{2} << 10,
                                      InboxMemory::LaneSlotBytes(n), n * (std::int64_t{64} << 10),
                                      std::int64_t{512} << 10};
  const auto name = [&](std::int64_t bytes) { return ChooseAlgorithm(op, n, Bytes(bytes)).name; };
  for (std::int64_t low = 1; low < std::int64_t{4} << 20; low *= 2) {
    if (name(low) == name(2 * low)) continue;
    std::int64_t below = low;
    std::int64_t above = 2 * low;
    while (above - below > 1) {
      const std::int64_t middle = (below + above) / 2;
      (name(middle) == name(low) ? below : above) = middle;
    }
    points.push_back(above);
  }
  return points;
}

class Matrix {
 public:
  explicit Matrix(std::uint64_t seed) : seed_(seed), kinds_(AllCallKinds()) {
    for (const DType dtype : kAllDTypes) reductions_.push_back(ReductionsToDraw(dtype));
    for (const CallKind& kind : kinds_) {
      const bool any = kind.algorithm == nullptr;
      in_rank_order_.push_back(any || kind.algorithm->Build().order() == ReduceOrder::kRank);
      std::vector<bool> fits;
      for (int n = 1; n <= kMaxRanks; ++n) fits.push_back(any || kind.algorithm->Fits(n).ok());
      fits_.push_back(fits);
    }
  }

  Coverage coverage() const {
    std::size_t reductions = 0;
    for (const auto& each : reductions_) reductions = std::max(reductions, each.size());
    Coverage coverage;
    coverage.levels = {2,
                       kMaxRanks,
                       6,
                       static_cast<int>(kinds_.size()),
                       static_cast<int>(std::size(kAllDTypes)),
                       static_cast<int>(reductions),
                       10,
                       2,
                       3};
    coverage.sets = {{kKind, kPath, kSize}};
    for (auto& pair : Coverage::Pairs(kFactors)) coverage.sets.push_back(std::move(pair));
    coverage.is_valid = [this](const Row& row) { return IsValid(row); };
    return coverage;
  }

  static int RanksOf(const Row& row) { return row[kRanks] + 1; }
  static Path PathOf(const Row& row) { return static_cast<Path>(row[kPath]); }
  static Mode ModeOf(const Row& row) { return static_cast<Mode>(row[kMode]); }
  const CallKind& KindOf(const Row& row) const { return kinds_[Index(row[kKind])]; }

  bool IsValid(const Row& row) const {
    const CallKind& kind = KindOf(row);
    if (!fits_[Index(row[kKind])][Index(row[kRanks])]) return false;
    if (kind.op == OpKind::kBarrier &&
        (row[kSize] > 0 || row[kDType] > 0 || row[kInPlace] > 0 || row[kPath] > 3)) {
      return false;
    }
    if (!Reduces(kind.op)) return row[kReduction] == 0;
    const std::vector<Reduction>& reductions = reductions_[Index(row[kDType])];
    if (Index(row[kReduction]) >= reductions.size()) return false;
    const Reduction& reduce = reductions[Index(row[kReduction])];
    if (IsScan(kind.op) && reduce.op() == ReduceOp::kAvg) return false;
    return reduce.commutes() || in_rank_order_[Index(row[kKind])];
  }

  // `largest`: bytes of a call that are not too many for the channels.
  CallCase CaseOf(const Row& row, std::int64_t largest) const {
    const CallKind& kind = KindOf(row);
    CallCase c;
    c.salt = seed_;
    for (const int level : row) c.salt = c.salt * 1000003 + static_cast<std::uint64_t>(level);
    c.salt = c.salt * 0x9e3779b97f4a7c15u >> 8;
    c.op = kind.op;
    c.by_counts = kind.by_counts;
    if (kind.algorithm != nullptr) c.algorithm = std::string(kind.algorithm->name);
    c.n = RanksOf(row);
    c.dtype = kAllDTypes[row[kDType]];
    if (Reduces(c.op)) c.reduce = reductions_[Index(row[kDType])][Index(row[kReduction])];
    c.root = HasRoot(c.op) ? static_cast<int>(c.salt % static_cast<std::uint64_t>(c.n)) : 0;
    c.in_place = row[kInPlace] == 1;
    c.at_beginning = c.salt / 8 % 2 == 1;
    const std::int64_t total = TotalOf(row, c, largest);
    c.counts = c.by_counts ? RandomCounts(c.op, c.n, total, c.salt) : EvenCounts(c.op, c.n, total);
    return c;
  }

 private:
  static std::size_t Index(int level) { return static_cast<std::size_t>(level); }

  std::int64_t TotalOf(const Row& row, const CallCase& c, std::int64_t largest) const {
    const auto size = static_cast<Size>(row[kSize]);
    const std::int64_t small[] = {0, 1, 2, c.n - 1, c.n, c.n + 1, 1000};
    if (size < Size::kBelow) return small[row[kSize]];
    std::vector<std::int64_t> points = SwitchPoints(c.op, c.n);
    // Long calls are dear: most rows take one of the lesser points.
    std::sort(points.begin(), points.end());
    if (c.salt / 16 % 8 != 0) largest = std::min(largest, std::int64_t{40} << 10);
    while (points.back() > largest) points.pop_back();
    const std::int64_t bytes = points[c.salt / 128 % points.size()];
    return std::max<std::int64_t>(
        bytes / SizeOf(c.dtype) + row[kSize] - static_cast<int>(Size::kAt), 0);
  }

  const std::uint64_t seed_;
  const std::vector<CallKind> kinds_;
  std::vector<std::vector<Reduction>> reductions_;  // by dtype
  std::vector<bool> in_rank_order_;                 // by kind
  std::vector<std::vector<bool>> fits_;             // by kind and ranks - 1
};

class OrdinaryMemory final : public TestMemory {
 public:
  std::shared_ptr<std::byte[]> Take(std::int64_t bytes) override {
    return std::shared_ptr<std::byte[]>(new std::byte[static_cast<std::size_t>(bytes)]);
  }
};

class ReachableMemory final : public TestMemory {
 public:
  explicit ReachableMemory(Group& group) : group_(group) {}
  std::shared_ptr<std::byte[]> Take(std::int64_t bytes) override {
    std::shared_ptr<void> memory = group_.AllocateReachable(bytes).value();
    auto* const data = static_cast<std::byte*>(memory.get());
    return {std::move(memory), data};
  }

 private:
  Group& group_;
};

// Bytes that one rank sends for a call.
std::int64_t PredictedBytes(const CallCase& c, const Algorithm& algorithm, int rank) {
  thread_local std::map<const Algorithm*, Schedule> schedules;  // ranks may be threads
  auto found = schedules.find(&algorithm);
  if (found == schedules.end()) found = schedules.emplace(&algorithm, algorithm.Build()).first;
  const Schedule& schedule = found->second;
  const auto frame = schedule.FrameFor(c.n, rank, c.root).value();
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(frame.blocks));
  for (std::int64_t i = 0; i < frame.blocks; ++i) {
    const bool is_given = HasOwners(c.op) || c.op == OpKind::kAllToAll;
    const std::int64_t b = HasOwners(c.op) ? schedule.FrameFor(c.n, i, c.root).value().own : i;
    blocks[static_cast<std::size_t>(b)] = is_given ? c.counts[static_cast<std::size_t>(i)]
                                                   : SplitEvenly(c.total(), frame.blocks, i).size;
  }
  const WireSizes sizes{SizeOf(c.dtype), SizeOf(AccumulatorOf(c.dtype))};
  return BytesSent(schedule, c.n, rank, c.root, blocks, sizes).value().value();
}

// Carries out rows, each rank of the group the same.
class RowRunner {
 public:
  RowRunner(Group& group, const Matrix& matrix, std::int64_t largest)
      : group_(group), matrix_(matrix), largest_(largest), reachable_(group) {
    begun_ = group.traffic();
  }

  Status Run(const Row& row) {
    CallCase c = matrix_.CaseOf(row, largest_);
    const int rank = group_.rank();
    const Path path = Matrix::PathOf(row);
    const bool is_odd = static_cast<int>(c.salt / 64 % static_cast<std::uint64_t>(c.n)) == rank;
    const bool odd_in = path == Path::kMixed && is_odd && c.salt / 512 % 3 != 0;
    const bool odd_out = path == Path::kMixed && is_odd && c.salt / 512 % 3 != 1;
    const bool is_reachable = path == Path::kSymmetric || path == Path::kMixed;
    const auto memory = [&](bool is_odd_one) -> TestMemory& {
      if (is_reachable && !is_odd_one) return reachable_;
      return ordinary_;
    };
    Count(c, row);
    auto run = std::make_unique<CallRun>(std::move(c), rank, memory(odd_in), memory(odd_out));
    const Mode mode = Matrix::ModeOf(row);
    run->Begin(group_, mode != Mode::kSync);
    for (int looks = 0; looks < 3 && mode == Mode::kAsync; ++looks) run->Look();
    in_flight_.push_back({std::move(run), path});
    if (mode == Mode::kInFlight && in_flight_.size() < 4) return OkStatus();
    return Drain();
  }

  // Ends what is in flight, oldest or newest first, and compares the bytes of all that was done.
  Status Drain() {
    for (; !in_flight_.empty(); in_flight_.pop_front()) {
      if (const Status status = in_flight_.front().run->End(); !status.ok()) {
        return status.WithContext(
            fmt::format("path {}", kPathNames[static_cast<int>(in_flight_.front().path)]));
      }
    }
    const Traffic now = group_.traffic();
    for (const auto& [op, predicted] : predicted_) {
      const std::int64_t counted = now[op].bytes_sent - begun_[op].bytes_sent;
      if (counted != predicted) {
        return Internal(fmt::format("{} bytes counted, {} predicted for {}", counted, predicted,
                                    last_.ToString()));
      }
    }
    return OkStatus();
  }

 private:
  struct InFlight {
    std::unique_ptr<CallRun> run;
    Path path;
  };

  void Count(const CallCase& c, const Row& row) {
    const Algorithm* algorithm = matrix_.KindOf(row).algorithm;
    if (algorithm == nullptr && c.by_counts && c.op != OpKind::kAllGather &&
        c.op != OpKind::kReduceScatter) {
      algorithm = &AlgorithmForPrivateCounts(c.op);
    } else if (algorithm == nullptr) {
      algorithm = &ChoicesOf(group_).Choose(c.op, c.n, Bytes(VOf(c) * SizeOf(c.dtype)),
                                            !c.reduce.commutes());
    }
    predicted_[c.op] += PredictedBytes(c, *algorithm, group_.rank());
    last_ = c;
  }

  // Elements of one rank's copy.
  static std::int64_t VOf(const CallCase& c) {
    return c.op == OpKind::kAllToAll ? c.total() / c.n : c.total();
  }

  Group& group_;
  const Matrix& matrix_;
  const std::int64_t largest_;
  OrdinaryMemory ordinary_;
  ReachableMemory reachable_;
  Traffic begun_;
  std::map<OpKind, std::int64_t> predicted_;
  CallCase last_;
  std::deque<InFlight> in_flight_;
};

// What a group must be joined with, for each of its rows.
struct Config {
  int ranks = 1;
  bool use_lanes = true;
  bool use_mapped = true;
  bool use_stages = true;

  static Config Of(const Row& row) {
    const Path path = Matrix::PathOf(row);
    return {Matrix::RanksOf(row), path != Path::kChannels, path > Path::kLanes,
            path > Path::kUnstaged};
  }
  friend auto operator<=>(const Config&, const Config&) = default;
};

// Each `of`th row of the whole matrix, from the `first` on, counted from 1.
struct Part {
  std::uint64_t first = 1;
  std::uint64_t of = 1;

  // "whole" or "3/40"; nothing if it is neither.
  static std::optional<Part> Of(std::string_view text) {
    if (text == "whole") return Part{};
    unsigned long long first = 0;
    unsigned long long of = 0;
    if (std::sscanf(std::string(text).c_str(), "%llu/%llu", &first, &of) != 2) return std::nullopt;
    return first >= 1 && first <= of ? std::optional(Part{first, of}) : std::nullopt;
  }
};

// Calls `function` with every row, of a part, that is valid and of a transport and a config.
// `seen`: such rows so far, of all parts.
Status ForEachRow(const Coverage& coverage, int transport, const Config& config, const Part& part,
                  std::uint64_t& seen, const std::function<Status(const Row&)>& function) {
  Row row(kFactors, 0);
  row[kTransport] = transport;
  row[kRanks] = config.ranks - 1;
  const int running[] = {kPath, kKind, kDType, kReduction, kSize, kInPlace, kMode};
  for (;;) {
    if (Config::Of(row) == config && coverage.is_valid(row) && seen++ % part.of == part.first - 1) {
      CHORUS_RETURN_IF_ERROR(function(row));
    }
    std::size_t at = 0;
    for (; at < std::size(running); ++at) {
      int& level = row[static_cast<std::size_t>(running[at])];
      if (++level < coverage.levels[static_cast<std::size_t>(running[at])]) break;
      level = 0;
    }
    if (at == std::size(running)) return OkStatus();
  }
}

class ConformanceTest : public testing::TestWithParam<RankKind> {};
INSTANTIATE_TEST_SUITE_P(All, ConformanceTest,
                         testing::Values(RankKind::kThreads, RankKind::kProcesses),
                         [](const auto& test) { return std::string(Name(test.param)); });

TEST_P(ConformanceTest, EveryResultIsThatOfTheDefinition) {
  const std::uint64_t seed = SeedOfToday();
  const char* const asked = std::getenv("CHORUS_CONFORMANCE");
  const std::optional<Part> whole = asked != nullptr ? Part::Of(asked) : std::nullopt;
  const std::size_t most =
      asked != nullptr ? std::strtoull(asked, nullptr, 10) : (kIsSanitized ? 500 : 1'000'000);
  const int transport = GetParam() == RankKind::kThreads ? 0 : 1;
  const Matrix matrix(seed);
  const Coverage coverage = matrix.coverage();
  std::map<Config, std::vector<Row>> rows;
  std::size_t count = 0;
  if (whole.has_value()) {
    for (int n = 1; n <= kMaxRanks; ++n) {
      rows[{n, false, false, false}] = {};
      rows[{n, true, false, false}] = {};
      rows[{n, true, true, false}] = {};
      rows[{n, true, true, true}] = {};
    }
  } else {
    std::vector<Row> all = CoveringArray(coverage, seed);
    if (all.size() > most) all.resize(most);
    for (Row& row : all) {
      if (row[kTransport] != transport) continue;
      ++count;
      rows[Config::Of(row)].push_back(std::move(row));
    }
  }
  std::printf(
      "seed %llu, %s\n", static_cast<unsigned long long>(seed),
      whole.has_value()
          ? fmt::format("part {} of {} of the whole matrix", whole->first, whole->of).c_str()
          : fmt::format("{} rows", count).c_str());
  std::fflush(stdout);  // or each process prints it again
  std::uint64_t turn = seed;
  for (const auto& [config, some] : rows) {
    JoinOptions options;
    options.timeout = std::chrono::seconds(60);
    options.use_lanes = config.use_lanes;
    options.use_mapped = config.use_mapped;
    options.use_stages = config.use_stages;
    options.use_reads = config.use_stages;
    // Narrow channels, so that messages stream, but not long calls through the narrowest.
    options.channel_bytes = std::int64_t{256} << 4 * (++turn % 3);
    const std::int64_t largest = 256 * options.channel_bytes;
    const auto work = [&, &config = config, &some = some](Group& group) {
      RowRunner runner(group, matrix, largest);
      const auto run = [&runner](const Row& row) { return runner.Run(row); };
      if (whole.has_value()) {
        std::uint64_t seen = 0;
        CHORUS_RETURN_IF_ERROR(ForEachRow(coverage, transport, config, *whole, seen, run));
        if (group.rank() == 0) {
          std::printf("  %d ranks: %llu of %llu rows\n", config.ranks,
                      static_cast<unsigned long long>(seen / whole->of),
                      static_cast<unsigned long long>(seen));
          std::fflush(stdout);
        }
      } else {
        for (const Row& row : some) CHORUS_RETURN_IF_ERROR(run(row));
      }
      return runner.Drain();
    };
    const Status status = RunRanks(config.ranks, GetParam(), work, options);
    EXPECT_TRUE(status.ok()) << status.message() << "; channels of " << options.channel_bytes
                             << " B; " << HowToRepeat(seed);
  }
}

// Sums that are wrong from one size on, and right below, are those of a switch between two ways.
TEST_P(ConformanceTest, NoElementIsWrongAroundAnySwitchPoint) {  // NVIDIA/nccl-tests#167
  const auto sweep = [](Group& group) -> Status {
    OrdinaryMemory ordinary;
    ReachableMemory reachable(group);
    const ReduceOp ops[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin, ReduceOp::kMax};
    std::uint64_t turn = 0;
    for (const std::int64_t bytes : SwitchPoints(OpKind::kAllReduce, group.size())) {
      for (std::int64_t count = bytes / 4 - 3; count <= bytes / 4 + 3; ++count) {
        for (const ReduceOp op : ops) {
          // All four below a lane's size; above, where calls are longer, in turns.
          ++turn;
          if (bytes > 4096 && turn % 4 != static_cast<std::uint64_t>(count % 4)) continue;
          CallCase c;
          c.reduce = op;
          c.n = group.size();
          c.counts = {count};
          c.salt = turn;
          TestMemory& memory = turn % 8 < 4 ? static_cast<TestMemory&>(ordinary) : reachable;
          CallRun run(c, group.rank(), memory, memory);
          run.Begin(group, turn % 2 == 0);
          CHORUS_RETURN_IF_ERROR(run.End());
        }
      }
    }
    return OkStatus();
  };
  JoinOptions options;
  options.timeout = std::chrono::seconds(60);
  for (const int n : {2, 3, 5, 6, 7}) {
    const Status status = RunRanks(n, GetParam(), sweep, options);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

}  // namespace
}  // namespace chorus
