// The law of the room: a layout changes no number of a training run but by rounding, and does just
// the work that was predicted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/kernel/matmul.h"
#include "chorus/train/run.h"
#include "chorus/train/trainer.h"

namespace chorus {
namespace {

constexpr int kSteps = 50;
constexpr double kLearningRate = 0.01;

// A text with some structure: 1200 characters, 12 different.
std::string Words() {
  const char* const words[] = {"tide ", "rose ", "and the ", "noon ", "ash; "};
  const RandomStream stream(9, "words");
  std::string text;
  for (std::uint64_t i = 0; text.size() < 1200; ++i) text += words[stream.Below(5, i)];
  return text.substr(0, 1200);
}

// Sizes that divide by no mesh of the tests: every collective is uneven somewhere.
std::string Toml(const std::string& strategy, const std::string& mesh, const std::string& dtype) {
  std::string axes = mesh;
  for (char& c : axes) {
    if (c == ',') c = '\n';
  }
  return fmt::format(
      "[data]\nsource = 'unused'\nheld_out = 0.2\n"
      "[model]\nwindow = 5\nwidth = 7\nhidden = 11\nblocks = 2\n"
      "[mesh]\n{}\n[strategy]\nname = '{}'\n"
      "[optimizer]\nweight_decay = 0.1\n"
      "[train]\nbatch = 13\ndtype = '{}'\nsteps = {}\nevaluate_samples = 20\n",
      axes, strategy, dtype, kSteps);
}

void Append(std::string& bytes, const std::vector<double>& numbers) {
  const auto count = static_cast<double>(numbers.size());
  bytes.append(reinterpret_cast<const char*>(&count), sizeof(count));
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
}

// One rank: trains, and gives back the losses, then every array, as raw f64, each behind its count.
Result<std::string> TrainOn(Group& group, const TrainConfig& config) {
  SetMatmulThreads(1);
  CHORUS_ASSIGN_OR_RETURN(Text text,
                          Text::Create(Words(), config.data.held_out, config.model.window));
  const KernelSet kernels = config.loop.dtype == DType::kF64 ? KernelSet::kPlain : KernelSet::kFast;
  CHORUS_ASSIGN_OR_RETURN(
      const auto trainer,
      Trainer::Create(config, std::move(text), group, {.kernels = kernels, .poison_memory = true}));
  std::vector<double> losses;
  for (int step = 1; step <= kSteps; ++step) {
    CHORUS_ASSIGN_OR_RETURN(const double loss, trainer->Step(step, kLearningRate));
    losses.push_back(loss);
  }
  std::string bytes;
  Append(bytes, losses);
  const StepProgram& program = trainer->programs().step;
  for (ValueId id = 0; id < program.bound(); ++id) {
    if (program.value(id).storage == StorageClass::kInput) continue;
    CHORUS_ASSIGN_OR_RETURN(const PlainArray array, trainer->Array(program.value(id).name()));
    Append(bytes, array.elements);
  }
  return bytes;
}

using Arrays = std::vector<std::vector<double>>;

// The inverse of a row of Append.
Arrays Numbers(const std::string& bytes) {
  Arrays arrays;
  for (std::size_t at = 0; at < bytes.size();) {
    double count = 0;
    std::memcpy(&count, bytes.data() + at, sizeof(count));
    std::vector<double>& array = arrays.emplace_back(static_cast<std::size_t>(count));
    std::memcpy(array.data(), bytes.data() + at + sizeof(count), array.size() * sizeof(double));
    at += sizeof(count) + array.size() * sizeof(double);
  }
  return arrays;
}

// max|got - want| <= 1e-9 (max|want| + learning rate x steps), array by array.
void ExpectNear(const Arrays& got, const Arrays& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t a = 0; a < want.size(); ++a) {
    ASSERT_EQ(got[a].size(), want[a].size());
    double largest = 0;
    for (const double value : want[a]) largest = std::max(largest, std::abs(value));
    const double limit = 1e-9 * (largest + kLearningRate * kSteps);
    for (std::size_t i = 0; i < want[a].size(); ++i) {
      ASSERT_NEAR(got[a][i], want[a][i], limit) << "array " << a << " element " << i;
    }
  }
}

Arrays TrainAll(const std::string& strategy, const std::string& mesh, const std::string& dtype,
                RankKind kind) {
  const Result<TrainConfig> config = ParseTrainConfig(Toml(strategy, mesh, dtype), "test.toml");
  EXPECT_TRUE(config.ok()) << config.status().message();
  if (!config.ok()) return {};
  const auto outcome = CollectFromRanks(static_cast<int>(config->mesh.size()), kind,
                                        [&](Group& group) { return TrainOn(group, *config); });
  EXPECT_TRUE(outcome.ok()) << strategy << " on " << mesh << ": " << outcome.status().message();
  if (!outcome.ok()) return {};
  for (const std::string& rank : *outcome) EXPECT_EQ(rank, outcome->front());  // the same bits
  return Numbers(outcome->front());
}

struct Layout {
  const char* strategy;
  const char* mesh;
};
constexpr Layout kLayouts[] = {
    {"data", "X=2"},
    {"data", "X=3"},
    {"data", "X=4"},
    {"fsdp", "X=2"},
    {"fsdp", "X=3"},
    {"fsdp", "X=4"},
    {"tensor", "Y=2"},
    {"tensor", "Y=3"},
    {"tensor", "Y=4"},
    {"data+tensor", "X=2\nY=2"},
    {"data+tensor", "X=2\nY=3"},
};

TEST(LayoutsTest, LossesAndParametersInF64EqualOneRanks) {
  const Arrays want = TrainAll("data", "X=1", "f64", RankKind::kThreads);
  ASSERT_EQ(want.size(), 19U);                       // losses; 6 parameters and the moments of each
  EXPECT_LT(want[0].back(), 0.7 * want[0].front());  // it learns
  for (const Layout& layout : kLayouts) {
    for (const RankKind kind : {RankKind::kThreads, RankKind::kProcesses}) {
      SCOPED_TRACE(fmt::format("{} on {} over {}", layout.strategy, layout.mesh, Name(kind)));
      ExpectNear(TrainAll(layout.strategy, layout.mesh, "f64", kind), want);
    }
  }
}

TEST(LayoutsTest, LossesInF32AreNearOneRanks) {
  const Arrays want = TrainAll("data", "X=1", "f32", RankKind::kThreads);
  ASSERT_EQ(want.size(), 19U);
  for (const Layout& layout : kLayouts) {
    SCOPED_TRACE(fmt::format("{} on {}", layout.strategy, layout.mesh));
    const Arrays got = TrainAll(layout.strategy, layout.mesh, "f32", RankKind::kProcesses);
    ASSERT_EQ(got.size(), want.size());
    for (int step = 0; step < kSteps; ++step)
      ASSERT_NEAR(got[0][step], want[0][step], 1e-4) << step;
  }
}

// What every rank of a layout does in one step, as literal numbers, on sizes that divide: B = 12,
// W = 12, D = 48, F = 96, L = 2, V = 12, f64. A rank that repeated another's work would do more.
//
//   FLOP of a rank   6 B (2 L D F + D V) / N = 1,368,576 / N for N ranks, however they are laid out
//   bytes of a rank  P = 8 (W V D + 2 L D F + D V) = 207,360 of parameters; an all_reduce of V
//                    bytes sends 2(N-1)/N V, or (N-1) V up to 16 KiB/(N-1); the 8 of the loss are
//                    one
//     data           all_reduce of the gradients: X=2 gives P + 8; larger N: the head (4,608) and
//                    the loss in one shot, (N-1) 4,616 + 2(N-1)/N (P - 4,608)
//     fsdp           reduce_scatter (N-1)/N P; all_gather (N-1)/N (2 P - 55,296): all but the
//                    embedding, which no gradient needs again, are gathered twice
//     tensor         all_gather of x.0 and of the head's d.x: 2 (N-1)/N 8 B D; all_reduce of x and
//                    d.x in each block and of the logits: (N-1) 8 B (2 L D + V)
//     data+tensor    tensor's with B/2; data's with P/|Y|
struct Work {
  const char* strategy;
  const char* mesh;
  std::int64_t flops;
  std::int64_t peak_bytes;
  std::map<TrafficKey, std::int64_t> sent;
};

Status CheckWork(const Work& work, const TrainConfig& config, Group& group) {
  CHORUS_ASSIGN_OR_RETURN(Text text, Text::Create(Words(), 0.2, 12));
  if (text.vocabulary_size() != 12) return Internal("the text has another vocabulary");
  CHORUS_ASSIGN_OR_RETURN(const auto trainer, Trainer::Create(config, std::move(text), group,
                                                              {.kernels = KernelSet::kPlain}));
  for (int step = 1; step <= 2; ++step) {
    CHORUS_RETURN_IF_ERROR(trainer->Step(step, kLearningRate).status());
    const RunCounters& counters = trainer->step().counters();
    std::string got = fmt::format("{} {}", counters.products.value(), counters.peak.value());
    std::string want = fmt::format("{} {}", work.flops, work.peak_bytes);
    for (const auto& [key, traffic] : counters.traffic) {
      got += fmt::format(" {} {} {}", Name(key.kind), key.axes, traffic.bytes_sent);
    }
    for (const auto& [key, bytes] : work.sent) {
      want += fmt::format(" {} {} {}", Name(key.kind), key.axes, bytes);
    }
    if (got != want) return Internal(fmt::format("did {}, want {}", got, want));
  }
  return OkStatus();
}

TEST(LayoutsTest, EachRankDoesItsShareOfTheWork) {
  constexpr ProgramOpKind kAr = ProgramOpKind::kAllReduce;
  constexpr ProgramOpKind kAg = ProgramOpKind::kAllGather;
  constexpr ProgramOpKind kRs = ProgramOpKind::kReduceScatter;
  const std::vector<Work> works = {
      {"data", "X=1", 1368576, 834680, {{{kAr, "X"}, 0}}},
      {"data", "X=2", 684288, 832064, {{{kAr, "X"}, 207368}}},
      {"data", "X=3", 456192, 831192, {{{kAr, "X"}, 276496}}},
      {"data", "X=4", 342144, 830756, {{{kAr, "X"}, 311064}}},
      {"fsdp",
       "X=2",
       684288,
       470336,
       {{{kAg, "X"}, 179712}, {{kRs, "X"}, 103680}, {{kAr, "X"}, 8}}},
      {"fsdp",
       "X=3",
       456192,
       331992,
       {{{kAg, "X"}, 239616}, {{kRs, "X"}, 138240}, {{kAr, "X"}, 16}}},
      {"fsdp",
       "X=4",
       342144,
       262820,
       {{{kAg, "X"}, 269568}, {{kRs, "X"}, 155520}, {{kAr, "X"}, 24}}},
      {"tensor", "Y=2", 684288, 417656, {{{kAg, "Y"}, 4608}, {{kAr, "Y"}, 19584}}},
      {"tensor", "Y=3", 456192, 278648, {{{kAg, "Y"}, 6144}, {{kAr, "Y"}, 26880}}},
      {"tensor", "Y=4", 342144, 210296, {{{kAg, "Y"}, 6912}, {{kAr, "Y"}, 29952}}},
      {"data+tensor",
       "X=2\nY=2",
       342144,
       416192,
       {{{kAr, "X"}, 103688}, {{kAg, "Y"}, 2304}, {{kAr, "Y"}, 9792}}},
      {"data+tensor",
       "X=2\nY=3",
       228096,
       277568,
       {{{kAr, "X"}, 69128}, {{kAg, "Y"}, 3072}, {{kAr, "Y"}, 19584}}},
  };
  for (const Work& work : works) {
    const std::string toml = fmt::format(
        "[data]\nsource = 'unused'\n[model]\nwindow = 12\nwidth = 48\nhidden = 96\nblocks = 2\n"
        "[mesh]\n{}\n[strategy]\nname = '{}'\n[train]\nbatch = 12\ndtype = 'f64'\n",
        work.mesh, work.strategy);
    const Result<TrainConfig> config = ParseTrainConfig(toml, "test.toml");
    ASSERT_TRUE(config.ok()) << config.status().message();
    for (const RankKind kind : {RankKind::kThreads, RankKind::kProcesses}) {
      const Status status = RunRanks(static_cast<int>(config->mesh.size()), kind,
                                     [&](Group& group) { return CheckWork(work, *config, group); });
      EXPECT_TRUE(status.ok()) << work.strategy << " on " << work.mesh << ": " << status.message();
    }
  }
}

}  // namespace
}  // namespace chorus
