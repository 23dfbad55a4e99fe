#include "chorus/tensor/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "chorus/tensor/agreement.h"
#include "chorus/tensor/block_index.h"
#include "chorus/tensor/executable.h"

namespace chorus {
namespace {

// The value of addend `member` of `members` of an operand: all but the first are numbers of their
// own, the first is what is left to the operand's number.
double Addend(const Spec& spec, std::int64_t member, std::int64_t members, std::int64_t global) {
  const auto own = [&](std::int64_t k) {
    return TrialNumber(fmt::format("{} addend {}", spec.name(), k), global);
  };
  if (member > 0) return own(member);
  double left = TrialNumber(spec.name(), global);
  for (std::int64_t k = 1; k < members; ++k) left -= own(k);
  return left;
}

Result<ArrayStore> MakeOperands(Runtime& runtime, const Product& product, const DimSizes& sizes,
                                DType dtype) {
  ArrayStore store;
  const Mesh& mesh = runtime.mesh();
  const int rank = runtime.rank();
  for (const Spec& spec : product.operands) {
    CHORUS_ASSIGN_OR_RETURN(ShardedArray array, ShardedArray::Create(runtime, spec, dtype, sizes));
    const std::int64_t members = mesh.GroupSize(spec.partial());
    const std::int64_t member = mesh.IndexInGroup(rank, spec.partial());
    ForEachElement(spec, mesh, sizes, rank, [&](std::int64_t local, std::int64_t global) {
      array.SetElement(local, Addend(spec, member, members, global));
    });
    store.emplace(spec.name(), std::move(array));
  }
  return store;
}

// The middle of `times`, each `stride` apart.
Seconds Median(const std::vector<double>& times, std::size_t first, std::size_t stride) {
  std::vector<double> own;
  for (std::size_t i = first; i < times.size(); i += stride) own.push_back(times[i]);
  std::sort(own.begin(), own.end());
  const std::size_t middle = own.size() / 2;
  return Seconds(own.size() % 2 == 1 ? own[middle] : (own[middle - 1] + own[middle]) / 2);
}

}  // namespace

bool Trial::right() const {
  return check.right() && std::all_of(ranks.begin(), ranks.end(),
                                      [](const RankReport& rank) { return rank.equal(); });
}

Result<Trial> TryProduct(Runtime& runtime, const Product& product, const ProductAnswer& answer,
                         const DimSizes& sizes, DType dtype, int runs) {
  using Clock = std::chrono::steady_clock;
  CHORUS_ASSIGN_OR_RETURN(Executable program, Executable::Load(runtime, answer.program, sizes));
  Result<ArrayStore> operands = MakeOperands(runtime, product, sizes, dtype);
  CHORUS_RETURN_IF_ERROR(
      AgreeOn(runtime, "the operands of " + product.ToString(), operands.status()));
  ArrayStore store = *std::move(operands);
  RankReport mine = Predict(program);
  const std::size_t ops = answer.program.ops().size();
  std::vector<double> times;  // of each run: its operations, then all of it
  for (int run = 0; run <= runs; ++run) {
    CHORUS_RETURN_IF_ERROR(runtime.world().Barrier());
    const Clock::time_point begin = Clock::now();
    CHORUS_RETURN_IF_ERROR(program.Run(store, AdamWSettings()));
    const double total = std::chrono::duration<double>(Clock::now() - begin).count();
    mine.Count(program.counters());
    if (run == 0) continue;
    for (const Seconds time : program.counters().op_times) times.push_back(time.value());
    times.push_back(total);
  }
  CHORUS_RETURN_IF_ERROR(runtime.world().AllReduce(times, ReduceOp::kMax));
  Trial trial;
  for (std::size_t i = 0; i < ops; ++i) trial.op_times.push_back(Median(times, i, ops + 1));
  trial.total = Median(times, ops, ops + 1);
  CHORUS_ASSIGN_OR_RETURN(trial.ranks, GatherReports(mine, runtime.world()));
  const std::string& result = answer.program.value(answer.program.outputs()[0]).name();
  CHORUS_ASSIGN_OR_RETURN(trial.check,
                          CheckAgainstDense(runtime, product, answer, sizes, store.at(result)));
  return trial;
}

}  // namespace chorus
