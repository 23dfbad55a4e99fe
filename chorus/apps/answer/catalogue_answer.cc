#include "chorus/apps/answer/catalogue_answer.h"

#include "chorus/apps/answer/choose_schedule.h"
#include "chorus/apps/answer/layout_answer.h"
#include "chorus/apps/answer/operation_words.h"
#include "chorus/apps/answer/primitive_answer.h"
#include "chorus/apps/answer/schedule_answer.h"
#include "chorus/cost/formula/formula.h"
#include "chorus/strategy/strategy.h"
#include "chorus/topology/machine.h"

namespace chorus::answer {
namespace {

Json AlgorithmJson(const Algorithm& a) {
  Json json = {{"name", a.name},
               {"idea", a.idea},
               {"cost", a.cost},
               {"ranks", Json::array()},
               {"parameter", nullptr}};
  for (std::int64_t n = 1; n <= kMostScheduleRanks; ++n) {
    if (a.Fits(n).ok()) json["ranks"].push_back(n);
  }
  if (a.parameter != nullptr) {
    json["parameter"] = {{"form", a.parameter->form}, {"meaning", a.parameter->meaning}};
  }
  return json;
}

Json OperationJson(OpKind op) {
  const OperationWords& words = WordsOf(op);
  Json json = {{"operation", Name(op)},
               {"reduces", Reduces(op)},
               {"root", HasRoot(op)},
               {"sized", op != OpKind::kBarrier},
               {"in_place", HasInPlace(op)},
               {"promise", words.promise},
               {"names", NamesJson(words)},
               {"variants", Json::array()},
               {"usual", UsualAlgorithm(op, 4, Bytes(0)).name},
               {"algorithms", Json::array()},
               {"formulas", Json::array()}};
  if (!words.variant.empty()) {
    json["variants"].push_back({{"name", words.variant}, {"mpi", words.variant_mpi}});
  }
  for (const Algorithm* a : AlgorithmsFor(op)) json["algorithms"].push_back(AlgorithmJson(*a));
  for (const Formula& formula : AllFormulas()) {
    if (formula.op == Name(op)) json["formulas"].push_back(formula.algorithm);
  }
  return json;
}

// Machines to begin with, by the way that the hardware is joined.
Json ExamplesOf(const Hardware& h) {
  Json examples = Json::array();
  const auto add = [&](const std::string& name) {
    if (MachineNamed(name, Catalogue::BuiltIn()).ok()) examples.push_back(name);
  };
  if (h.fabric == Fabric::kTorus) {
    for (const char* axes : {"4x4", "8x8", "4x4x4", "16x16"}) add(h.name + "-" + axes);
    return examples;
  }
  const std::string node = std::to_string(h.node_size);
  add(h.name + "-" + node);
  for (const char* nodes : {"x2", "x4", "x16"}) add(h.name + "-" + node + nodes);
  return examples;
}

}  // namespace

Json CatalogueJson(const std::string& version) {
  Json json = {
      {"version", version},
      {"operations", Json::array()},
      {"hardware", Json::array()},
      {"models", {Name(LatencyModel::kSum), Name(LatencyModel::kMax), Name(LatencyModel::kNccl)}},
      {"dtypes", Json::array()},
      {"strategies", StrategyNames()},
      {"limits",
       {{"schedule_ranks", kMostScheduleRanks},
        {"primitive_ranks", kMostPrimitiveRanks},
        {"layout_devices", kMostLayoutDevices},
        {"sizes", 64},
        {"text", 2000}}}};
  for (const OpKind op : kAllOpKinds) json["operations"].push_back(OperationJson(op));
  for (const Hardware& h : Catalogue::BuiltIn().all()) {
    json["hardware"].push_back({{"name", h.name},
                                {"title", h.title},
                                {"fabric", Name(h.fabric)},
                                {"examples", ExamplesOf(h)}});
  }
  for (const DType dtype : kAllDTypes) {
    json["dtypes"].push_back(
        {{"name", Name(dtype)}, {"bytes", SizeOf(dtype)}, {"float", IsFloat(dtype)}});
  }
  return json;
}

}  // namespace chorus::answer
