// Every strategy trains like one rank: same loss, same parameters, by the reference interpreter.
#include <gtest/gtest.h>

#include <cmath>

#include "chorus/base/random.h"
#include "chorus/model/mlp.h"
#include "chorus/program/account.h"
#include "chorus/program/interpreter.h"
#include "chorus/shard/partition.h"
#include "chorus/strategy/strategy.h"

namespace chorus {
namespace {

// Odd sizes, so that blocks are uneven and some empty.
constexpr MlpConfig kOddConfig = {3, 5, 5, 7, 2};
const DimSizes kOddSizes = {{"B", 7}, {"W", 3}, {"V", 5}, {"D", 5}, {"F", 7}};

using Arrays = std::map<std::string, PlainArray>;

// Parameters as the model starts, zero moments, and a batch that depends on the step alone.
Arrays Start(const Graph& graph, const DimSizes& sizes) {
  Arrays arrays;
  for (const NodeId id : graph.Parameters()) {
    const GraphNode& node = graph.node(id);
    PlainArray w = Filled(GlobalShape(Spec::Whole("", node.dims), sizes), 0);
    for (const char* moment : {".m", ".v"}) arrays[node.name + moment] = w;
    const RandomStream random(1, node.name);
    for (std::size_t i = 0; i < w.elements.size(); ++i) {
      w.elements[i] = node.number * random.Normal(i);
    }
    arrays[node.name] = w;
  }
  return arrays;
}

void Batch(Arrays& arrays, const DimSizes& sizes, std::int64_t step) {
  for (const auto& [name, shape] : {std::pair("tokens", Shape({sizes.at("B"), sizes.at("W")})),
                                    std::pair("targets", Shape({sizes.at("B")}))}) {
    const RandomStream random(2, name, static_cast<std::uint64_t>(step));
    PlainArray array = Filled(shape, 0);
    for (std::size_t i = 0; i < array.elements.size(); ++i) {
      array.elements[i] =
          static_cast<double>(random.Below(static_cast<std::uint64_t>(sizes.at("V")), i));
    }
    arrays[name] = array;
  }
}

struct Training {
  std::vector<double> losses;
  Arrays last;
};

Training Train(const StepProgram& program, const Graph& graph, const Mesh& mesh, int steps) {
  Training training;
  training.last = Start(graph, kOddSizes);
  AdamWSettings settings;
  settings.learning_rate = 0.05;
  settings.weight_decay = 0.1;
  for (settings.step = 1; settings.step <= steps; ++settings.step) {
    Batch(training.last, kOddSizes, settings.step);
    auto after = Interpret(program, mesh, kOddSizes, training.last, settings);
    EXPECT_TRUE(after.ok()) << after.status().message();
    if (!after.ok()) return training;
    training.losses.push_back(after->at("loss").elements[0]);
    training.last = std::move(after).value();
  }
  return training;
}

Result<Partition> Make(const LanguageModel& model, const ShardingTable& table, const Mesh& mesh,
                       const DimSizes& sizes = kOddSizes, DType dtype = DType::kF64) {
  CHORUS_ASSIGN_OR_RETURN(const GradientGraph gradients, Differentiate(model.graph, model.loss));
  PartitionOptions options;
  options.dtype = dtype;
  return PartitionStep(gradients, model.loss, table, mesh, sizes, options);
}

double Difference(const Arrays& a, const Arrays& b) {
  double most = 0;
  for (const auto& [name, array] : a) {
    for (std::size_t i = 0; i < array.elements.size(); ++i) {
      most = std::max(most, std::abs(array.elements[i] - b.at(name).elements[i]));
    }
  }
  return most;
}

struct Layout {
  const char* strategy;
  const char* mesh;
};
class EveryLayout : public testing::TestWithParam<Layout> {};

TEST_P(EveryLayout, TrainsLikeOneRank) {
  const LanguageModel model = *MlpLanguageModel(kOddConfig);
  const Result<Partition> alone = Make(model, MlpTable("", ParameterSharding::kNone, ""), Mesh());
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  const Training one = Train(alone->program, model.graph, Mesh(), 5);

  const Mesh mesh = *Mesh::Parse(GetParam().mesh);
  const Result<ShardingTable> table = MakeStrategy(GetParam().strategy, mesh);
  ASSERT_TRUE(table.ok()) << table.status().message();
  const Result<Partition> partition = Make(model, *table, mesh);
  ASSERT_TRUE(partition.ok()) << partition.status().message();
  EXPECT_TRUE(partition->repeated_products.empty()) << partition->repeated_products[0];
  EXPECT_EQ(*StepProgram::Parse(partition->program.ToString()), partition->program);
  const Training many = Train(partition->program, model.graph, mesh, 5);

  ASSERT_EQ(one.losses.size(), many.losses.size());
  for (std::size_t i = 0; i < one.losses.size(); ++i) {
    EXPECT_NEAR(one.losses[i], many.losses[i], 1e-13) << "step " << i + 1;
  }
  EXPECT_LT(one.losses[4], one.losses[0] + 1);
  EXPECT_LE(Difference(one.last, many.last), 1e-11);
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, EveryLayout,
    testing::Values(Layout{"data", "X=1"}, Layout{"data", "X=2"}, Layout{"data", "X=3"},
                    Layout{"data", "X=4"}, Layout{"zero1", "X=2"}, Layout{"zero1", "X=3"},
                    Layout{"zero1", "X=4"}, Layout{"fsdp", "X=2"}, Layout{"fsdp", "X=3"},
                    Layout{"fsdp", "X=4"}, Layout{"tensor", "Y=2"}, Layout{"tensor", "Y=3"},
                    Layout{"tensor", "Y=4"}, Layout{"data+tensor", "X=2,Y=2"},
                    Layout{"data+tensor", "X=2,Y=3"}, Layout{"fsdp+tensor", "X=2,Y=2"},
                    Layout{"fsdp+tensor", "X=2,Y=3"}, Layout{"fsdp+tensor", "Dp=3,Tp=2"}));

}  // namespace
}  // namespace chorus
