// Products on every small mesh, planned and carried out over threads and over processes: values
// equal the plain product, bytes sent and memory held are what the plan says, rank by rank.
//
// A sample of the day; CHORUS_PRODUCTS=5000 takes so many over threads and a tenth over processes,
// CHORUS_PRODUCTS=whole a hundredth and a thousandth of all. All of them go through the sequential
// interpreter in shard/every_product_test.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chorus/collective/run_ranks.h"
#include "chorus/collective/seed_test.h"
#include "chorus/shard/product_cases_test.h"
#include "chorus/shard/traffic.h"
#include "chorus/tensor/executable.h"

namespace chorus {
namespace {

// Of the products that shard/every_product_test.cc counts.
constexpr std::size_t kOnePercent = 22'566;

// One product, planned.
struct PlannedCase {
  std::string name;
  StepProgram program;
  DimSizes sizes;
  std::map<std::string, PlainArray> arrays;
};

Result<PlannedCase> PlanCase(const ProductCases& cases, std::int64_t i, std::uint64_t seed) {
  const Product product = cases.At(i);
  PlannedCase planned;
  planned.sizes = ProductCases::SizesOf(seed, i);
  planned.name = fmt::format("{} on {}, {}; {}", product.ToString(), cases.mesh().ToString(),
                             ToString(planned.sizes), HowToRepeat(seed));
  planned.arrays = ProductCases::ArraysOf(planned.sizes);
  CHORUS_ASSIGN_OR_RETURN(const auto plans,
                          PlanChain(product.operands, product.result, product.wanted, cases.mesh(),
                                    planned.sizes, DType::kF64, Tariff()));
  // Every other one by a loop over chunks, where one of its plans can be done so.
  ChainPlan plan = plans[0];
  for (std::size_t p = 0; i % 2 == 1 && p < plans.size() && !plan.steps[0].loop; ++p) {
    const std::vector<ChunkLoop> loops =
        LoopsOf(plans[p].steps[0].plan, cases.mesh(), planned.sizes);
    if (loops.empty()) continue;
    plan = plans[p];
    plan.steps[0].loop = loops[static_cast<std::size_t>(i / 2) % loops.size()];
    planned.name += "; " + ToString(*plan.steps[0].loop, plan.steps[0].plan);
  }
  CHORUS_ASSIGN_OR_RETURN(planned.program, ProgramOf(product, plan, DType::kF64));
  return planned;
}

// What a rank holds of `whole`: of a sum over n ranks the first holds the whole less what the
// others do, and each other one k + 1 times the whole.
Result<ShardedArray> HoldPart(Runtime& runtime, const Spec& spec, const DimSizes& sizes,
                              const PlainArray& whole) {
  const std::int64_t n = runtime.mesh().GroupSize(spec.partial());
  const std::int64_t k = runtime.mesh().IndexInGroup(runtime.rank(), spec.partial());
  const auto factor = static_cast<double>(k > 0 ? k + 1 : 2 - n * (n + 1) / 2);
  CHORUS_ASSIGN_OR_RETURN(const Spec summed, spec.WithPartial({}));
  CHORUS_ASSIGN_OR_RETURN(ShardedArray block,
                          ShardedArray::FromGlobal(runtime, summed, DType::kF64, sizes, whole));
  CHORUS_ASSIGN_OR_RETURN(ShardedArray part,
                          ShardedArray::Create(runtime, spec, DType::kF64, sizes));
  const auto* from = static_cast<const double*>(block.raw());
  auto* to = static_cast<double*>(part.raw());
  for (std::int64_t e = 0; e < part.elements(); ++e) to[e] = factor * from[e];
  return part;
}

Status RunCase(const PlannedCase& test, const Mesh& mesh, Group& group) {
  CHORUS_ASSIGN_OR_RETURN(
      const auto runtime,
      Runtime::Create(group, mesh, {.kernels = KernelSet::kPlain, .poison_memory = true}));
  CHORUS_ASSIGN_OR_RETURN(Executable step, Executable::Load(*runtime, test.program, test.sizes));
  const int rank = group.rank();
  ArrayStore store;
  for (ValueId id = 0; id < test.program.bound(); ++id) {
    const ProgramValue& value = test.program.value(id);
    CHORUS_ASSIGN_OR_RETURN(ShardedArray array, HoldPart(*runtime, value.spec, test.sizes,
                                                         test.arrays.at(value.name())));
    store.emplace(value.name(), std::move(array));
  }
  CHORUS_RETURN_IF_ERROR(step.Run(store, AdamWSettings()));
  CHORUS_ASSIGN_OR_RETURN(const PlainArray got, ToGlobal(store.at("C")));
  if (!(got == ProductCases::PlainProduct(test.arrays))) return Internal("another product");
  const Bytes peak = PeakMemory(test.program, mesh, test.sizes, rank).peak;
  if (step.counters().peak != peak) {
    return Internal(fmt::format("rank {} held {} bytes, predicted {}", rank,
                                step.counters().peak.value(), peak.value()));
  }
  const auto traffic = PredictTraffic(test.program, mesh, test.sizes, rank);
  if (traffic.size() != step.counters().traffic.size()) return Internal("traffic of other kinds");
  for (const auto& [key, sent] : traffic) {
    const std::int64_t counted = step.counters().traffic.at(key).bytes_sent;
    if (counted != sent.value()) {
      return Internal(fmt::format("rank {}: {} over {} sent {} bytes, predicted {}", rank,
                                  Name(key.kind), key.axes, counted, sent.value()));
    }
  }
  return OkStatus();
}

class EveryProductRuns : public testing::TestWithParam<RankKind> {};
INSTANTIATE_TEST_SUITE_P(All, EveryProductRuns,
                         testing::Values(RankKind::kThreads, RankKind::kProcesses),
                         [](const auto& test) { return std::string(Name(test.param)); });

TEST_P(EveryProductRuns, AsPredicted) {
  const std::uint64_t seed = SeedOfToday();
  const char* const asked = std::getenv("CHORUS_PRODUCTS");
  std::size_t most = kIsSanitized ? 20 : 60;
  if (asked != nullptr) {
    const bool whole = std::string_view(asked).rfind("whole", 0) == 0;
    most = whole ? kOnePercent : std::strtoull(asked, nullptr, 10);
  }
  if (GetParam() == RankKind::kProcesses) most = std::max<std::size_t>(most / 10, 4);
  const std::vector<Mesh> meshes = ProductCases::Meshes();
  const RandomStream draw(seed, Name(GetParam()));
  std::map<std::size_t, std::vector<std::int64_t>> chosen;  // by mesh
  std::vector<ProductCases> all(meshes.begin(), meshes.end());
  for (std::size_t i = 0; i < most; ++i) {
    const std::size_t on = draw.Below(all.size(), i, 0);
    chosen[on].push_back(
        static_cast<std::int64_t>(draw.Below(static_cast<std::uint64_t>(all[on].size()), i, 1)));
  }
  for (const auto& [on, cases] : chosen) {
    std::vector<PlannedCase> planned;
    for (const std::int64_t i : cases) {
      const Result<PlannedCase> one = PlanCase(all[on], i, seed);
      ASSERT_TRUE(one.ok()) << one.status().message();
      planned.push_back(*one);
    }
    const Mesh& mesh = meshes[on];
    const Status status =
        RunRanks(static_cast<int>(mesh.size()), GetParam(), [&](Group& group) -> Status {
          for (const PlannedCase& one : planned) {
            CHORUS_RETURN_IF_ERROR(RunCase(one, mesh, group).WithContext(one.name));
          }
          return OkStatus();
        });
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

}  // namespace
}  // namespace chorus
