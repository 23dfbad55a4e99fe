// The list of all algorithms, and finding one in it by name and numbers.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "chorus/algorithm/algorithm.h"
#include "chorus/algorithm/builders.h"

namespace chorus {
namespace {

// "knomial" of "knomial:4".
std::string_view BaseName(std::string_view name) { return name.substr(0, name.find(':')); }

// How a name is written: "ring", "knomial:K".
std::string FormOf(const Algorithm& algorithm) {
  if (algorithm.parameter == nullptr) return std::string(algorithm.name);
  return fmt::format("{}:{}", BaseName(algorithm.name), algorithm.parameter->form);
}

// An algorithm and the memory of its name.
struct Instance {
  std::string name;
  Algorithm algorithm;
};

std::shared_ptr<const Algorithm> WithNumbers(const Algorithm& family, std::string_view name,
                                             AlgorithmNumbers numbers) {
  auto instance = std::make_shared<Instance>(Instance{std::string(name), family});
  instance->algorithm.name = instance->name;
  instance->algorithm.numbers = std::move(numbers);
  return {instance, &instance->algorithm};
}

// Those behind the colon of `name`.
Result<AlgorithmNumbers> ParseNumbers(const Algorithm& family, std::string_view name) {
  const AlgorithmParameter& parameter = *family.parameter;
  const std::string_view text = name.substr(std::min(name.size(), BaseName(name).size() + 1));
  const auto wrong = [&](std::string_view why) {
    return InvalidArgument(fmt::format("'{}': {}; write {}, {} being {}", name, why, FormOf(family),
                                       parameter.form, parameter.meaning));
  };
  AlgorithmNumbers numbers;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return wrong("there is no number");
    numbers.push_back(number);
    if (stop == end) break;
    if (parameter.separator == 0 || *stop != parameter.separator) {
      return wrong(fmt::format("'{}' is not expected", *stop));
    }
    at = stop + 1;
  }
  const Status status = parameter.Check(numbers);
  if (!status.ok()) return wrong(status.message());
  return numbers;
}

// Gives those with numbers the ones in their name.
std::vector<Algorithm> Complete(std::vector<Algorithm> algorithms) {
  for (Algorithm& algorithm : algorithms) {
    if (algorithm.parameter == nullptr) continue;
    algorithm.numbers = ParseNumbers(algorithm, algorithm.name).value();
  }
  return algorithms;
}

}  // namespace

Status Algorithm::Fits(std::int64_t group_size) const {
  if (parameter == nullptr || parameter->Fits == nullptr) return OkStatus();
  return parameter->Fits(numbers, group_size).WithContext(name);
}

const std::vector<Algorithm>& AllAlgorithms() {
  static const std::vector<Algorithm> all = Complete(
      {// all_gather
       kDirectAllGather, kRingAllGather, kBidirectionalRingAllGather, kRecursiveDoublingAllGather,
       kBruckAllGather, kTwoLevelAllGather, kHierarchicalAllGather, kTorusAllGather,
       // reduce_scatter
       kDirectReduceScatter, kRingReduceScatter, kShiftedRingReduceScatter,
       kBidirectionalRingReduceScatter, kRecursiveHalvingReduceScatter, kTwoLevelReduceScatter,
       kHierarchicalReduceScatter, kTorusReduceScatter,
       // all_reduce
       kDirectAllReduce, kRingAllReduce, kOneShotAllReduce, kBidirectionalRingAllReduce,
       kRecursiveDoublingAllReduce, kHalvingDoublingAllReduce, kDoubleTreeAllReduce,
       kTwoLevelAllReduce, kHierarchicalAllReduce, kTorusAllReduce,
       // broadcast
       kBinomialBroadcast, kKnomialBroadcast, kDirectBroadcast, kScatterGatherBroadcast,
       kDoubleTreeBroadcast, kTwoLevelBroadcast,
       // reduce
       kBinomialReduce, kKnomialReduce, kDirectReduce, kDoubleTreeReduce,
       // gather, scatter
       kDirectGather, kKnomialGather, kDirectScatter, kKnomialScatter,
       // all_to_all
       kDirectAllToAll, kConfirmedAllToAll, kPairwiseAllToAll, kBruckAllToAll,
       // scan, exscan
       kLinearScan, kRecursiveDoublingScan, kLinearExScan, kRecursiveDoublingExScan,
       // barrier
       kDisseminationBarrier});
  return all;
}

std::vector<const Algorithm*> AlgorithmsFor(OpKind op) {
  std::vector<const Algorithm*> found;
  for (const Algorithm& algorithm : AllAlgorithms()) {
    if (algorithm.op == op) found.push_back(&algorithm);
  }
  return found;
}

std::string NamesOfAlgorithms(OpKind op) {
  std::string names;
  for (const Algorithm* algorithm : AlgorithmsFor(op)) {
    names += (names.empty() ? "" : ", ") + FormOf(*algorithm);
  }
  return names;
}

Result<std::shared_ptr<const Algorithm>> FindAlgorithm(std::string_view name, OpKind op) {
  for (const Algorithm* algorithm : AlgorithmsFor(op)) {
    if (BaseName(algorithm->name) != BaseName(name)) continue;
    const bool has_numbers = name.size() > BaseName(name).size();
    if (algorithm->parameter == nullptr && has_numbers) {
      return InvalidArgument(
          fmt::format("{} takes no numbers, '{}' has some", algorithm->name, name));
    }
    if (algorithm->parameter == nullptr || algorithm->name == name) return Unowned(*algorithm);
    CHORUS_ASSIGN_OR_RETURN(AlgorithmNumbers numbers, ParseNumbers(*algorithm, name));
    return WithNumbers(*algorithm, name, std::move(numbers));
  }
  return NotFound(
      fmt::format("no algorithm '{}' for {}; there is {}", name, Name(op), NamesOfAlgorithms(op)));
}

}  // namespace chorus
