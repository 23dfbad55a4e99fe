// A kill or a stop of any rank at any step of what is really executed, and in the middle of copies:
// never a hang, the ranks that are left go on without it, and nothing is left behind.
//
// A world of four ranks lives through three faults, one after another; after each the survivors
// shrink and prove by a sum who they are. Worlds run in a few worker processes at once, since much
// of the time is waiting. The seed changes from run to run and is printed.
//
//   CHORUS_FAULTS=3000 CHORUS_FAULT_SEED=7 collective_test --gtest_filter='Kill*'
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <new>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "chorus/collective/fault_injector_test.h"
#include "chorus/collective/ranks_test.h"
#include "chorus/transport/shm/pages_test.h"

namespace chorus {
namespace {

using std::chrono::milliseconds;

constexpr int kWorldRanks = 4;
constexpr int kFaultsOfWorld = kWorldRanks - 1;
constexpr milliseconds kNever = std::chrono::seconds(40);

// Buffers of `bytes` each, on page boundaries.
struct Memory {
  std::byte* in = nullptr;
  std::byte* out = nullptr;
  std::int64_t bytes = 0;

  ConstBuffer In(std::int64_t count) const { return {in, count, DType::kF32}; }
  MutableBuffer Out(std::int64_t count) const { return {out, count, DType::kF32}; }
};

// One way to call something; a few times, so that the next call is under way too.
struct FaultCase {
  std::string name;
  std::function<Status(Group&, const Memory&, const CallOptions&)> call;
  bool is_symmetric = false;
};

std::vector<FaultCase> Cases() {
  std::vector<FaultCase> cases;
  // Elements of a rank's share: a line, several lanes, and what streams or is mapped.
  for (const std::int64_t share : {2, 700, 20'000}) {
    for (const bool symmetric : {false, true}) {
      if (symmetric && share < 1000) continue;
      const auto add = [&](const std::string& operation, const std::string& algorithm,
                           const auto& call) {
        cases.push_back(
            {fmt::format("{} {} x {}{}", operation, algorithm, share,
                         symmetric ? " symmetric" : ""),
             [algorithm, call, share](Group& group, const Memory& memory, CallOptions options) {
               options.algorithm = algorithm;
               return call(group, memory, options, share);
             },
             symmetric});
      };
      using M = const Memory&;
      using O = const CallOptions&;
      for (const char* algorithm : {"direct", "ring", "one_shot", "recursive_doubling",
                                    "halving_doubling", "double_tree"}) {
        add("all_reduce", algorithm, [](Group& group, M m, O options, std::int64_t v) {
          return group.AllReduce(m.In(v), m.Out(v), ReduceOp::kSum, options);
        });
      }
      for (const char* algorithm : {"direct", "ring", "bruck"}) {
        add("all_gather", algorithm, [](Group& group, M m, O options, std::int64_t v) {
          return group.AllGather(m.In(v), m.Out(group.size() * v), options);
        });
      }
      for (const char* algorithm : {"direct", "ring"}) {
        add("reduce_scatter", algorithm, [](Group& group, M m, O options, std::int64_t v) {
          return group.ReduceScatter(m.In(group.size() * v), m.Out(v), ReduceOp::kMax, options);
        });
      }
      for (const char* algorithm : {"binomial", "direct", "scatter_gather"}) {
        add("broadcast", algorithm, [](Group& group, M m, O options, std::int64_t v) {
          return group.Broadcast(m.Out(v), group.size() - 1, options);
        });
      }
      add("reduce", "binomial", [](Group& group, M m, O options, std::int64_t v) {
        return group.Reduce(m.In(v), m.Out(v), ReduceOp::kSum, 0, options);
      });
      add("gather", "direct", [](Group& group, M m, O options, std::int64_t v) {
        return group.Gather(m.In(v), m.Out(group.size() * v), 0, options);
      });
      add("scatter", "direct", [](Group& group, M m, O options, std::int64_t v) {
        return group.Scatter(m.In(group.size() * v), m.Out(v), 0, options);
      });
      for (const char* algorithm : {"direct", "pairwise", "bruck"}) {
        add("all_to_all", algorithm, [](Group& group, M m, O options, std::int64_t v) {
          return group.AllToAll(m.In(group.size() * v), m.Out(group.size() * v), options);
        });
      }
      add("scan", "linear", [](Group& group, M m, O options, std::int64_t v) {
        return group.Scan(m.In(v), m.Out(v), ReduceOp::kSum, options);
      });
    }
  }
  cases.push_back({"barrier", [](Group& group, const Memory&, const CallOptions& options) {
                     return group.Barrier(options);
                   }});
  cases.push_back(
      {"send_recv", [](Group& group, const Memory& m, const CallOptions& options) {
         const int right = (group.rank() + 1) % group.size();
         const int left = (group.rank() + group.size() - 1) % group.size();
         return group.SendRecv(m.In(20'000), right, 0, m.Out(20'000), left, 0, options).status();
       }});
  cases.push_back({"split", [](Group& group, const Memory&, const CallOptions& options) {
                     return group.Split(0, group.rank(), options).status();
                   }});
  cases.push_back({"shrink", [](Group& group, const Memory&, const CallOptions& options) {
                     return group.Shrink(options.timeout).status();
                   }});
  return cases;
}

bool Shrinks(const FaultCase& c) { return c.name == "shrink"; }

struct Trial {
  std::size_t which = 0;  // case
  int victim = 0;         // rank in what is left of the world
  ProcessFault fault;
};

std::string Describe(const std::vector<FaultCase>& cases, const Trial& trial) {
  constexpr const char* kWhere[] = {"no fault", "point", "page", "microsecond"};
  return fmt::format("[{}, rank {} {} at {} {}]", cases[trial.which].name, trial.victim,
                     trial.fault.stops ? "stopped" : "killed",
                     kWhere[static_cast<std::size_t>(trial.fault.where)], trial.fault.at);
}

JoinOptions Watched() {
  JoinOptions options = Patient(kNever);
  options.channel_bytes = 8192;
  options.wrap = [](std::unique_ptr<Transport> inner) {
    return FaultInjector::Get().Wrap(std::move(inner));
  };
  return options;
}

constexpr std::int64_t kMemoryBytes = std::int64_t{4} * 20'000 * kWorldRanks;

// Both kinds of memory of one rank, for as long as it lives.
class Memories {
 public:
  static Result<Memories> Make(Group& group) {
    Memories memories;
    for (int i = 0; i < 2; ++i) {
      memories.ordinary_[i] = MapTestPages(kMemoryBytes, /*shared=*/false);
      CHORUS_ASSIGN_OR_RETURN(memories.reachable_[i], group.AllocateReachable(kMemoryBytes));
    }
    return memories;
  }
  Memory Of(const FaultCase& c) const {
    if (!c.is_symmetric) return {ordinary_[0], ordinary_[1], kMemoryBytes};
    return {static_cast<std::byte*>(reachable_[0].get()),
            static_cast<std::byte*>(reachable_[1].get()), kMemoryBytes};
  }

 private:
  std::byte* ordinary_[2] = {};
  std::shared_ptr<void> reachable_[2];
};

Status BlockingCall(const FaultCase& c, Group& group, const Memory& memory, milliseconds timeout) {
  CallOptions options;
  options.timeout = timeout;
  for (int k = 0; k < (Shrinks(c) ? 1 : 2); ++k) {
    CHORUS_RETURN_IF_ERROR(c.call(group, memory, options));
  }
  return OkStatus();
}

// Points of each case on each rank of a group of `size`, without a fault.
std::vector<std::vector<std::int64_t>> CountPoints(const std::vector<FaultCase>& cases, int size) {
  const auto counts = CollectFromRanks(
      size, RankKind::kProcesses,
      [&](Group& group) -> Result<std::string> {
        CHORUS_ASSIGN_OR_RETURN(const Memories memories, Memories::Make(group));
        std::string text;
        for (const FaultCase& c : cases) {
          CHORUS_ASSIGN_OR_RETURN(Group part, group.Split(0, group.rank()));
          FaultInjector::Get().Arm({}, {});
          CHORUS_RETURN_IF_ERROR(BlockingCall(c, part, memories.Of(c), kNever).WithContext(c.name));
          text += fmt::format("{} ", FaultInjector::Get().End());
        }
        return text;
      },
      Watched());
  EXPECT_TRUE(counts.ok()) << counts.status().message();
  std::vector<std::vector<std::int64_t>> by_rank;
  for (int rank = 0; counts.ok() && rank < size; ++rank) {
    std::istringstream text((*counts)[static_cast<std::size_t>(rank)]);
    by_rank.emplace_back(cases.size());
    for (std::int64_t& count : by_rank.back()) text >> count;
  }
  return by_rank;
}

// Where the ranks of a world tell each other, by other means than those under test, that they have
// come to a trial: the victim must not strike while others still look back at the trial before.
class Roll {
 public:
  Roll() {
    void* const memory = MapTestPages(sizeof(Counts), /*shared=*/true);
    counts_ = new (memory) Counts;
  }
  ~Roll() { UnmapTestPages(counts_, sizeof(Counts)); }
  Roll(const Roll&) = delete;
  Roll& operator=(const Roll&) = delete;

  void Come(std::size_t trial) const { ++counts_->at(trial); }
  void Await(std::size_t trial, int ranks) const {
    while (counts_->at(trial) < ranks) usleep(20);
  }

 private:
  using Counts = std::array<std::atomic<int>, kFaultsOfWorld>;
  Counts* counts_;
};

// The processes of a world. A rank that fails, or that its alarm ends, wakes them: one that was
// stopped would stay so for ever, its own alarm pending, if the rank that should wake it is gone.
class Sleepers {
 public:
  static void Are(const std::vector<std::int64_t>& pids) {
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i] = static_cast<pid_t>(pids[i]);
    std::signal(SIGALRM, [](int) {
      Wake();
      std::signal(SIGALRM, SIG_DFL);
      std::raise(SIGALRM);
    });
  }
  static void Wake() {
    for (const pid_t pid : all_) {
      if (pid > 0) kill(pid, SIGCONT);
    }
  }

 private:
  inline static std::array<pid_t, kWorldRanks> all_{};
};

// One rank's life. Returns "" if it was as it has to be. `soon`: deadlines around a stop.
Result<std::string> Live(Group& world, const std::vector<FaultCase>& cases,
                         const std::vector<Trial>& trials, const Roll& roll, milliseconds soon) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(60);
  CHORUS_ASSIGN_OR_RETURN(const Memories memories, Memories::Make(world));
  const int id = world.rank();
  Group current = world;
  // By rank of the current group: rank in the world, and process.
  std::vector<int> ids = {0, 1, 2, 3};
  std::vector<std::int64_t> pids(kWorldRanks);
  CHORUS_RETURN_IF_ERROR(world.AllGather(std::vector<std::int64_t>{getpid()}, pids));
  Sleepers::Are(pids);
  for (std::size_t t = 0; t < trials.size(); ++t) {
    const Trial& trial = trials[t];
    const FaultCase& c = cases[trial.which];
    const Memory memory = memories.Of(c);
    const milliseconds timeout = trial.fault.stops ? soon : kNever;
    roll.Come(t);
    roll.Await(t, current.size());
    if (current.rank() == trial.victim) {
      // Its own page of `in` or `out`, by turns.
      FaultInjector::Get().Arm(trial.fault,
                               {trial.fault.at % 2 == 0 ? memory.in : memory.out, kMemoryBytes});
      static_cast<void>(BlockingCall(c, current, memory, timeout));
      FaultInjector::Get().End();
      // It was stopped and runs again: the others are gone.
      const Status left_out = current.Shrink(milliseconds(1)).status();
      if (left_out.ok()) return Internal("a rank that was stopped got a group");
      return std::string();
    }
    if (!Shrinks(c)) {
      const Status status = BlockingCall(c, current, memory, timeout);
      if (!status.ok() && status.scope() != ErrorScope::kGroup) return status;
    }
    const int victim = ids[trial.victim];
    std::int64_t expected = 0;
    for (const int each : ids) expected |= each == victim ? 0 : std::int64_t{1} << each;
    const bool wakes = current.rank() == (trial.victim == 0 ? 1 : 0);
    // The victim may have failed when it had agreed to the new group already: then once more.
    std::int64_t sum = 0;
    for (int attempt = 0; sum == 0; ++attempt) {
      std::vector<int> survivors;
      CHORUS_ASSIGN_OR_RETURN(current, current.Shrink(timeout, &survivors));
      for (int& survivor : survivors) survivor = ids[survivor];
      ids = survivors;
      std::vector<std::int64_t> x = {std::int64_t{1} << id};
      const Status status = current.AllReduce(x, ReduceOp::kSum, {timeout, "", nullptr});
      if (status.ok()) sum = x[0];
      if (!status.ok() && (status.scope() != ErrorScope::kGroup || attempt > 2)) return status;
    }
    if (sum != expected) return Internal(fmt::format("ranks {:b}, not {:b}", sum, expected));
    if (wakes && trial.fault.stops) kill(static_cast<pid_t>(pids[victim]), SIGCONT);
  }
  return std::string();
}

// "" if the world lived through its trials as it has to.
std::string RunWorld(const std::vector<FaultCase>& cases, const std::vector<Trial>& trials) {
  std::string wrong;
  // On a busy machine a rank that runs may look like one that is stopped; not with ten times as
  // much time.
  for (const milliseconds soon : {milliseconds(300), milliseconds(3000)}) {
    wrong.clear();
    const Roll roll;
    const auto outcomes = OutcomeOfRanks(
        kWorldRanks, RankKind::kProcesses,
        [&](Group& group) {
          Result<std::string> life = Live(group, cases, trials, roll, soon);
          if (!life.ok()) Sleepers::Wake();
          return life;
        },
        Watched());
    int killed = 0;
    for (const auto& outcome : outcomes) {
      const std::string& message = outcome.status().message();
      const bool was_killed = message.find("was killed by signal 9") != std::string::npos;
      killed += was_killed ? 1 : 0;
      if (!outcome.ok() && !was_killed) wrong += message + "; ";
    }
    const auto expected = std::count_if(trials.begin(), trials.end(),
                                        [](const Trial& trial) { return !trial.fault.stops; });
    if (wrong.empty() && killed != expected) {
      wrong = fmt::format("{} ranks were killed, not {}", killed, expected);
    }
    if (wrong.empty() || wrong.find("came too late") == std::string::npos) break;
  }
  if (wrong.empty()) return wrong;
  std::string text;
  for (const Trial& trial : trials) text += Describe(cases, trial) + " ";
  return text + wrong;
}

// All (case, victim, point) of groups of one size, in a random order, again and again.
class Deck {
 public:
  Deck(const std::vector<FaultCase>& cases, int size, std::mt19937_64* random) : random_(*random) {
    const auto counts = CountPoints(cases, size);
    for (int rank = 0; rank < static_cast<int>(counts.size()); ++rank) {
      for (std::size_t c = 0; c < cases.size(); ++c) {
        for (std::int64_t point = 0; point < counts[rank][c]; ++point) {
          trials_.push_back({c, rank, {ProcessFault::Where::kPoint, point, false}});
        }
      }
    }
    std::shuffle(trials_.begin(), trials_.end(), random_);
  }
  std::size_t points() const { return trials_.size(); }

  Trial Next() {
    Trial trial = trials_[next_++ % trials_.size()];
    const auto dice = [this](std::int64_t sides) {
      return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(sides));
    };
    trial.fault.stops = dice(6) == 0;
    switch (dice(5)) {
      case 0:
        trial.fault.where = ProcessFault::Where::kPage;
        trial.fault.at = dice(2 * kMemoryBytes / kWorldRanks / 4096);
        break;
      case 1:
        trial.fault.where = ProcessFault::Where::kTime;
        trial.fault.at = dice(400);
        break;
      default:
        break;
    }
    return trial;
  }

 private:
  std::mt19937_64& random_;
  std::vector<Trial> trials_;
  std::size_t next_ = 0;
};

// Mappings of this process of memory that ranks share.
int SharedMappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:") != std::string::npos) ++count;
  }
  return count;
}

// What is left behind; "" if nothing is.
std::string Leftovers(std::size_t descriptors, std::size_t segments) {
  std::string text;
  if (Entries("/proc/self/fd") != descriptors) text += "a descriptor is left; ";
  if (Entries("/dev/shm") != segments) text += "a segment is left; ";
  if (SharedMappings() != 0) text += "a mapping is left; ";
  if (waitpid(-1, nullptr, WNOHANG) != -1) text += "a process is left; ";
  return text;
}

// A worker: worlds w, w + workers, ... one after another. Its report: "" if all is right.
std::string WorkText(const std::vector<FaultCase>& cases,
                     const std::vector<std::vector<Trial>>& worlds, std::size_t first,
                     std::size_t workers) {
  const std::size_t descriptors = Entries("/proc/self/fd");
  const std::size_t segments = Entries("/dev/shm");
  std::string report;
  for (std::size_t w = first; w < worlds.size() && report.empty(); w += workers) {
    report = RunWorld(cases, worlds[w]);
  }
  return report + Leftovers(descriptors, segments);
}

std::int64_t FromEnvironment(const char* name, std::int64_t otherwise) {
  const char* const text = getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

TEST(KillProcessTest, SurvivorsGoOnWhereverARankDiesOrStops) {
  const auto seed = static_cast<std::uint64_t>(
      FromEnvironment("CHORUS_FAULT_SEED", static_cast<std::int64_t>(std::random_device{}())));
  const std::int64_t faults = FromEnvironment("CHORUS_FAULTS", 300);
  constexpr std::size_t kWorkers = 4;
  const std::vector<FaultCase> cases = Cases();
  std::mt19937_64 random(seed);
  std::vector<Deck> decks;
  std::size_t points = 0;
  for (int size = kWorldRanks; size > 1; --size) {
    decks.emplace_back(cases, size, &random);
    points += decks.back().points();
  }
  fmt::print("CHORUS_FAULT_SEED={}: {} of {} points in {} cases\n", seed, faults, points,
             cases.size());
  std::fflush(stdout);  // known even if it hangs
  ASSERT_GT(points, 1000U);
  std::vector<std::vector<Trial>> worlds((faults + kFaultsOfWorld - 1) / kFaultsOfWorld);
  for (auto& trials : worlds) {
    for (Deck& deck : decks) trials.push_back(deck.Next());
  }

  struct Worker {
    pid_t pid;
    int fd;
  };
  std::vector<Worker> running;
  for (std::size_t w = 0; w < kWorkers; ++w) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(ends[0]);
      const std::string report = WorkText(cases, worlds, w, kWorkers) + "end";
      const bool told =
          write(ends[1], report.data(), report.size()) == static_cast<ssize_t>(report.size());
      _exit(told ? 0 : 1);
    }
    close(ends[1]);
    running.push_back({pid, ends[0]});
  }
  for (const Worker& worker : running) {
    std::string report;
    char buffer[4096];
    for (ssize_t size = 0; (size = read(worker.fd, buffer, sizeof(buffer))) > 0;) {
      report.append(buffer, static_cast<std::size_t>(size));
    }
    close(worker.fd);
    EXPECT_EQ(waitpid(worker.pid, nullptr, 0), worker.pid);
    EXPECT_EQ(report, "end") << "CHORUS_FAULT_SEED=" << seed;
  }
}

}  // namespace
}  // namespace chorus
