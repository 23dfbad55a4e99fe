// Bytes, operations and memory of every strategy, as literal numbers: replicated work cannot pass.
#include <gtest/gtest.h>

#include "chorus/model/mlp.h"
#include "chorus/program/account.h"
#include "chorus/shard/partition.h"
#include "chorus/shard/traffic.h"
#include "chorus/strategy/strategy.h"

namespace chorus {
namespace {

// W 8, V 64, D 64, F 256, L 2: P = 32768 + 4 x 16384 + 4096 = 102400 parameters.
constexpr MlpConfig kConfig = {8, 64, 64, 256, 2};
const DimSizes kSizes = {{"B", 128}, {"W", 8}, {"V", 64}, {"D", 64}, {"F", 256}};
constexpr std::int64_t kEmbed = 32768;
constexpr std::int64_t kParameters = 102400;

StepProgram Program(const char* strategy, const Mesh& mesh) {
  const LanguageModel model = *MlpLanguageModel(kConfig);
  const auto partition =
      PartitionStep(*Differentiate(model.graph, model.loss), model.loss,
                    *MakeStrategy(strategy, mesh), mesh, kSizes, PartitionOptions());
  EXPECT_TRUE(partition.ok()) << partition.status().message();
  return partition->program;
}

using Traffic = std::map<TrafficKey, Bytes>;
constexpr auto kGather = ProgramOpKind::kAllGather;
constexpr auto kScatter = ProgramOpKind::kReduceScatter;
constexpr auto kReduce = ProgramOpKind::kAllReduce;

Traffic Sent(const char* strategy, const char* mesh_text, std::int64_t rank) {
  const Mesh mesh = *Mesh::Parse(mesh_text);
  return PredictTraffic(Program(strategy, mesh), mesh, kSizes, rank);
}

TEST(Numbers, ParametersAreCounted) { EXPECT_EQ(ParameterCount(kConfig), kParameters); }

// One loss is reduced over n ranks by sending it to the n - 1 others.
TEST(Numbers, BytesSentOnFourRanks) {
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    // Every gradient once: 2 (n-1)/n of P floats.
    EXPECT_EQ(Sent("data", "X=4", rank),
              (Traffic{{{kReduce, "X"}, Bytes(2 * 3 * kParameters + 12)}}));
    EXPECT_EQ(Sent("data", "X=4", rank).at({kReduce, "X"}), Bytes(614'412));
    // Gradients scattered, parameters gathered: the same bytes in all.
    EXPECT_EQ(Sent("zero1", "X=4", rank), (Traffic{{{kReduce, "X"}, Bytes(12)},
                                                   {{kScatter, "X"}, Bytes(307'200)},
                                                   {{kGather, "X"}, Bytes(307'200)}}));
    // Parameters gathered forward and backward (the embedding has no use backward): 3/2 of the
    // bytes.
    EXPECT_EQ(Sent("fsdp", "X=4", rank),
              (Traffic{{{kReduce, "X"}, Bytes(12)},
                       {{kScatter, "X"}, Bytes(307'200)},
                       {{kGather, "X"}, Bytes(3 * (2 * kParameters - kEmbed))}}));
    // [B, D] after each block and before it backward, and the logits [B, V]: 5 all_reduces of 32
    // KiB; [B, D] gathered from the embedding and from the head.
    EXPECT_EQ(Sent("tensor", "Y=4", rank), (Traffic{{{kReduce, "Y"}, Bytes(5 * 2 * 24'576)},
                                                    {{kGather, "Y"}, Bytes(2 * 24'576)}}));
  }
}

TEST(Numbers, BytesSentOnTwoAxes) {
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    // Each rank has half of all parameters and half of the batch.
    EXPECT_EQ(Sent("data+tensor", "X=2,Y=2", rank),
              (Traffic{{{kReduce, "X"}, Bytes(4 * kParameters / 2 + 4)},
                       {{kReduce, "Y"}, Bytes(5 * 16'384)},
                       {{kGather, "Y"}, Bytes(2 * 8'192)}}));
    EXPECT_EQ(Sent("fsdp+tensor", "X=2,Y=2", rank),
              (Traffic{{{kReduce, "X"}, Bytes(4)},
                       {{kScatter, "X"}, Bytes(2 * kParameters / 2)},
                       {{kGather, "X"}, Bytes(2 * (2 * kParameters - kEmbed) / 2)},
                       {{kReduce, "Y"}, Bytes(5 * 16'384)},
                       {{kGather, "Y"}, Bytes(2 * 8'192)}}));
  }
}

// Products of a step: forward 2 L x 2 B D F + 2 B D V, backward twice that. No rank does more than
// its share.
TEST(Numbers, OperationsAreShared) {
  constexpr std::int64_t kAlone = 3LL * (2 * 2 * 2 * 128 * 64 * 256 + 2 * 128 * 64 * 64);
  static_assert(kAlone == 53'477'376);
  const std::pair<const char*, const char*> layouts[] = {
      {"data", "X=1"},           {"data", "X=4"},   {"zero1", "X=4"},
      {"fsdp", "X=4"},           {"tensor", "Y=4"}, {"data+tensor", "X=2,Y=2"},
      {"fsdp+tensor", "X=2,Y=2"}};
  for (const auto& [strategy, mesh_text] : layouts) {
    const Mesh mesh = *Mesh::Parse(mesh_text);
    const StepProgram program = Program(strategy, mesh);
    for (std::int64_t rank = 0; rank < mesh.size(); ++rank) {
      EXPECT_EQ(ProductFlops(program, mesh, kSizes, rank), Flops(kAlone / mesh.size()))
          << strategy << " on " << mesh_text;
    }
  }
}

TEST(Numbers, PeakMemoryOnFourRanks) {
  const auto use = [](const char* strategy, const char* mesh_text) {
    const Mesh mesh = *Mesh::Parse(mesh_text);
    return PeakMemory(Program(strategy, mesh), mesh, kSizes, 0);
  };
  // Bound: the parameter and two moments (12 P), whole or split; 36 bytes of tokens a sample.
  EXPECT_EQ(use("data", "X=1").bound, Bytes(12 * kParameters + 128 * 36));
  EXPECT_EQ(use("data", "X=4").bound, Bytes(12 * kParameters + 32 * 36));
  EXPECT_EQ(use("zero1", "X=4").bound, Bytes(6 * kParameters + 32 * 36));
  EXPECT_EQ(use("fsdp", "X=4").bound, Bytes(3 * kParameters + 32 * 36));
  EXPECT_EQ(use("tensor", "Y=4").bound, Bytes(3 * kParameters + 128 * 36));
  EXPECT_EQ(use("fsdp+tensor", "X=2,Y=2").bound, Bytes(3 * kParameters + 64 * 36));

  const auto peak = [&use](const char* strategy, const char* mesh_text) {
    const MemoryUse memory = use(strategy, mesh_text);
    return memory.peak.value() - memory.bound.value();
  };
  constexpr std::int64_t kX = 32'768;     // x[B, D], and logits[B, V]
  constexpr std::int64_t kH = 131'072;    // h[B, F]
  constexpr std::int64_t kW = 65'536;     // win[D, F], wout[F, D]
  constexpr std::int64_t kHead = 16'384;  // head[D, V]
  constexpr std::int64_t kLoss = 4;
  // While d.wout of the last block is made: x.0, x.1, d.x.2; h and a of both blocks and d.a;
  // d.head.
  EXPECT_EQ(peak("data", "X=1"), 3 * kX + 5 * kH + kHead + kW + kLoss);
  EXPECT_EQ(peak("zero1", "X=4"), (3 * kX + 5 * kH + kHead) / 4 + kW + kLoss);
  EXPECT_EQ(peak("data+tensor", "X=2,Y=2"), 3 * kX / 2 + 5 * kH / 4 + kHead / 2 + kW / 2 + kLoss);
  // While d.embed is made: all other gradients and d.x.0.
  EXPECT_EQ(peak("data", "X=4"), 4 * kEmbed + kHead + 4 * kW + kX / 4 + kLoss);
  // While d.a of the last block is made with wout gathered: nothing else is whole.
  EXPECT_EQ(peak("fsdp", "X=4"), (3 * kX + 5 * kH + kHead) / 4 + kW + kLoss);
  EXPECT_EQ(peak("fsdp+tensor", "X=2,Y=2"), 3 * kX / 2 + 5 * kH / 4 + kHead / 4 + kW / 2 + kLoss);
  // While d.x.2 is gathered: it, its shard and its packed blocks; x.0, x.1, x.2, d.logits whole.
  EXPECT_EQ(peak("tensor", "Y=4"), 6 * kX + kX / 4 + 4 * kH / 4 + kLoss);
  EXPECT_EQ(use("data", "X=4").peak, Bytes(1'647'748));
  EXPECT_EQ(use("fsdp", "X=4").peak, Bytes(566'404));
  EXPECT_EQ(use("tensor", "Y=4").peak, Bytes(647'684));
}

}  // namespace
}  // namespace chorus
