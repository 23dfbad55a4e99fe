#include "chorus/apps/answer/estimate_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "chorus/base/counted.h"
#include "chorus/base/nearest.h"
#include "chorus/base/rate.h"
#include "chorus/cost/calibrate/predict.h"

namespace chorus::answer {
namespace {

// What people expect to be told about first: the textbook algorithm of the machine at hand.
std::string UsualFormula(const std::string& op, const Wiring& w, LatencyModel model) {
  const bool torus = w.fabric == Fabric::kTorus;
  if (op == "broadcast" || op == "reduce") return "binomial";
  if (op == "barrier") return "dissemination";
  if (op == "scan" || op == "exscan") return "linear";
  if (op == "all_to_all") return torus ? "torus" : "direct";
  if (op == "gather" || op == "scatter") return "direct";
  if (torus) return "torus";
  if (model == LatencyModel::kNccl) return "ring";
  return w.nodes > 1 && w.node_size > 1 ? "pipelined_two_level" : "ring";
}

Json EstimateJson(const Estimate& e) {
  Json json = {{"operation", e.op},
               {"algorithm", e.algorithm},
               {"model", e.algorithm == "measured" ? Json() : Json(Name(e.model))},
               {"bytes", SizeOf(e).value()},
               {"ranks", e.ranks},
               {"seconds", e.time.value()},
               {"bandwidth_seconds", e.bandwidth.value()},
               {"latency_seconds", e.latency.value()},
               {"algbw_bytes_per_second", e.algbw.value()},
               {"busbw_bytes_per_second", e.busbw.value()},
               {"bound", e.Bound()},
               {"reason", e.Reason()}};
  if (!e.protocol.empty()) json["protocol"] = e.protocol;
  json["terms"] = Json::array();
  for (const Term& term : e.terms) {
    json["terms"].push_back({{"reason", term.reason},
                             {"bandwidth_seconds", term.bandwidth.value()},
                             {"latency_seconds", term.latency.value()}});
  }
  return json;
}

// "v5e-4x2"; of a machine file what to write into it.
std::string SliceName(const Machine& machine, const std::vector<std::int64_t>& sizes) {
  if (!machine.origin.empty())
    return fmt::format("a file with axes = [{}]", fmt::join(sizes, ", "));
  return fmt::format("{}-{}", machine.hardware.name, fmt::join(sizes, "x"));
}

struct AskedEstimate {
  Machine machine;
  Wiring wiring;
  LatencyModel model;
  std::vector<Bytes> sizes;
};

Result<AskedEstimate> ReadQuestion(const EstimateQuestion& o) {
  CHORUS_ASSIGN_OR_RETURN(Machine machine, ChosenMachine(o.machine));
  CHORUS_ASSIGN_OR_RETURN(const LatencyModel model,
                          ParseLatencyModel(o.model.empty() ? "sum" : o.model));
  if (o.bytes.empty() && o.op != "barrier") {
    return InvalidArgument("--bytes is missing; say how much, as --bytes 16GB or 1KiB..1GiB");
  }
  CHORUS_ASSIGN_OR_RETURN(std::vector<Bytes> sizes,
                          ParseByteRange(o.bytes.empty() ? "0" : o.bytes));
  const std::int64_t devices = machine.topology.device_count();
  CHORUS_ASSIGN_OR_RETURN(const std::int64_t ranks, RanksOn(machine, o.ranks));
  if (ranks < devices && machine.topology.definition().fabric == Fabric::kTorus) {
    const std::vector<std::int64_t> slice = NearestSlice(machine.topology, ranks);
    return InvalidArgument(fmt::format(
        "--ranks {} is no slice of the torus; the nearest is --on {}, or chorus simulate works it "
        "out",
        ranks, SliceName(machine, slice)));
  }
  CHORUS_RETURN_IF_ERROR(CheckAccumulatorRatio(o.accumulator_ratio));
  Wiring wiring = WiringOf(machine, ranks);
  return AskedEstimate{std::move(machine), std::move(wiring), model, std::move(sizes)};
}

Question QuestionOf(const EstimateQuestion& o, Bytes size) {
  return {o.op, static_cast<double>(size.value()), o.root, o.accumulator_ratio, {}};
}

// `why` an algorithm has no formula on the machine, and which have.
Status Instead(const AskedEstimate& asked, const Question& q, const Status& why) {
  const Result<std::vector<Estimate>> all = CompareAlgorithms(asked.wiring, q, asked.model);
  if (!all.ok()) return why;
  std::vector<std::string> names;
  for (const Estimate& e : *all) names.push_back(e.algorithm);
  return Unsupported(
      fmt::format("{}; for {} here there is {}", why.message(), q.op, fmt::join(names, ", ")));
}

// All that there is to say about one size: one algorithm, or all of them. What was measured answers
// where nobody asks for a formula.
Result<std::vector<Estimate>> EstimatesOf(const EstimateQuestion& o, const AskedEstimate& asked,
                                          Bytes size) {
  const Question q = QuestionOf(o, size);
  const bool measured = HasFit(asked.wiring, q);
  if (o.compare) {
    CHORUS_ASSIGN_OR_RETURN(std::vector<Estimate> all,
                            CompareAlgorithms(asked.wiring, q, asked.model));
    if (measured) all.insert(all.begin(), EstimateFromFit(asked.wiring, q));
    return all;
  }
  const std::string usual = UsualFormula(o.op, asked.wiring, asked.model);
  if (measured && o.algorithm.empty()) {
    if (o.model.empty()) return std::vector<Estimate>{EstimateFromFit(asked.wiring, q)};
    return InvalidArgument(fmt::format(
        "--model is of formulas, and {} over {} was measured on {}; leave it out, or ask "
        "for a formula, as --algorithm {}",
        o.op, Counted(asked.wiring.ranks, "rank"), asked.machine.name, usual));
  }
  const std::string name = o.algorithm.empty() ? usual : o.algorithm;
  Result<Estimate> one = EstimateCollective(asked.wiring, q, name, asked.model);
  if (one.ok()) return std::vector<Estimate>{*std::move(one)};
  const bool others =
      one.status().code() == StatusCode::kUnsupported && FindFormula(o.op, name).ok();
  return others ? Instead(asked, q, one.status()) : one.status();
}

MeasuredBeside SetBeside(Seconds time, const Estimate& e) {
  const BytesPerSecond algbw(e.bytes / time.value());
  const double factor = chorus::BusFactor(e.op, e.ranks);
  return {time, algbw, factor, BytesPerSecond(algbw.value() * factor),
          time.value() / e.time.value()};
}

Json BesideJson(const MeasuredBeside& m) {
  Json json = {{"seconds", m.time.value()},
               {"algbw_bytes_per_second", m.algbw.value()},
               {"busbw_bytes_per_second", m.busbw.value()},
               {"times_the_estimate", nullptr}};
  if (std::isfinite(m.times)) json["times_the_estimate"] = m.times;
  return json;
}

Result<std::optional<Seconds>> MeasuredTime(const EstimateQuestion& o, const AskedEstimate& asked) {
  if (o.measured.empty()) return std::optional<Seconds>();
  const Result<Seconds> time = ParseSeconds(o.measured);
  if (!time.ok()) return time.status().WithContext("--measured");
  if (time->value() <= 0) return InvalidArgument("--measured must be above 0, as 1.6ms");
  if (asked.sizes.size() > 1) {
    return InvalidArgument(fmt::format(
        "--measured is a time of one size, and --bytes {} are {}; give the size that was measured",
        o.bytes, asked.sizes.size()));
  }
  return std::optional<Seconds>(*time);
}

// Where the fastest of the formulas changes between two sizes that follow each other: found by
// halving, since one of the two is faster at either end.
Result<std::vector<FastestChange>> ChangesOf(const EstimateQuestion& o,
                                             const AskedEstimate& asked) {
  std::vector<FastestChange> changes;
  std::string before;
  for (std::size_t i = 0; i < asked.sizes.size(); ++i) {
    CHORUS_ASSIGN_OR_RETURN(
        const std::vector<Estimate> all,
        CompareAlgorithms(asked.wiring, QuestionOf(o, asked.sizes[i]), asked.model));
    if (all.empty()) return std::vector<FastestChange>();
    const std::string& now = all.front().algorithm;
    if (i > 0 && now != before && asked.sizes[i - 1] < asked.sizes[i]) {
      Bytes low = asked.sizes[i - 1], high = asked.sizes[i];
      while (high.value() - low.value() > 1) {
        const Bytes middle(low.value() + (high.value() - low.value()) / 2);
        const Question q = QuestionOf(o, middle);
        CHORUS_ASSIGN_OR_RETURN(const Estimate a,
                                EstimateCollective(asked.wiring, q, before, asked.model));
        CHORUS_ASSIGN_OR_RETURN(const Estimate b,
                                EstimateCollective(asked.wiring, q, now, asked.model));
        (b.time < a.time ? high : low) = middle;
      }
      changes.push_back({before, now, high});
    }
    before = now;
  }
  return changes;
}

Result<EstimateAnswer> AnswerCompute(const EstimateQuestion& o) {
  CHORUS_ASSIGN_OR_RETURN(Machine machine, ChosenMachine(o.machine));
  EstimateAnswer answer(std::move(machine));
  if (o.bytes.empty() && o.op == "read") {
    return InvalidArgument("--bytes is missing; say how much is read, as --bytes 1MiB");
  }
  CHORUS_ASSIGN_OR_RETURN(const std::vector<Bytes> sizes,
                          ParseByteRange(o.bytes.empty() ? "0" : o.bytes));
  if (sizes.size() > 1) {
    return InvalidArgument(
        fmt::format("read takes one size, as --bytes 1MiB; {} are {}", o.bytes, sizes.size()));
  }
  CHORUS_ASSIGN_OR_RETURN(answer.compute,
                          EstimateCompute({o.op, o.dims, o.element, sizes[0]}, answer.machine));
  return answer;
}

}  // namespace

Status CheckEstimateOperation(const std::string& op) {
  std::vector<std::string> known = FormulaOps();
  for (const char* other : {"product", "layer", "training", "read"}) known.emplace_back(other);
  if (std::find(known.begin(), known.end(), op) != known.end()) return OkStatus();
  return NotFound(fmt::format("there is no operation '{}'; {}", op, NearestAdvice(op, known)));
}

const std::vector<OptionRule>& EstimateRules() {
  const Questions shapes = With({}, {"product", "layer", "training"});
  static const std::vector<OptionRule> rules = {
      {"--bytes", With(SizedCollectives(), {"read"})},
      {"--ranks", Collectives()},
      {"--root", RootedCollectives()},
      {"--algorithm", Collectives(), {"--compare"}},
      {"--model", Collectives()},
      {"--accumulator-ratio", ReducingCollectives()},
      {"--measured", Collectives(), {"--compare"}},
      {"--dims", shapes},
      {"--element", shapes},
      {"--compare", Collectives()},
      {"--bandwidth", With(Collectives(), {"product"})},
      {"--latency", Collectives()},
      {"--wrap", Collectives()},
  };
  return rules;
}

Result<EstimateAnswer> Answer(const EstimateQuestion& question) {
  CHORUS_RETURN_IF_ERROR(CheckEstimateOperation(question.op));
  if (IsComputeQuestion(question.op)) return AnswerCompute(question);
  CHORUS_ASSIGN_OR_RETURN(AskedEstimate asked, ReadQuestion(question));
  CHORUS_ASSIGN_OR_RETURN(const std::optional<Seconds> measured, MeasuredTime(question, asked));
  EstimateAnswer answer(asked.machine);
  for (const Bytes size : asked.sizes) {
    CHORUS_ASSIGN_OR_RETURN(const std::vector<Estimate> some, EstimatesOf(question, asked, size));
    answer.estimates.insert(answer.estimates.end(), some.begin(), some.end());
    answer.lower_bounds.push_back(LowerBoundOf(asked.wiring, QuestionOf(question, size)));
  }
  if (question.compare) {
    CHORUS_ASSIGN_OR_RETURN(answer.crossovers, ChangesOf(question, asked));
  }
  if (answer.estimates.size() == 1) {
    const Result<std::vector<Estimate>> all =
        CompareAlgorithms(asked.wiring, QuestionOf(question, asked.sizes[0]), asked.model);
    if (all.ok() && !all->empty()) answer.fastest = all->front();
  }
  if (measured) answer.measured = SetBeside(*measured, answer.estimates[0]);
  answer.wiring = std::move(asked.wiring);
  answer.model = asked.model;
  answer.sizes = std::move(asked.sizes);
  return answer;
}

Json ToJson(const EstimateAnswer& answer) {
  if (answer.compute) return answer.compute->json;
  Json json = {{"machine", answer.machine.name},
               {"topology", answer.machine.topology.ToString()},
               {"estimates", Json::array()}};
  for (const Estimate& e : answer.estimates) json["estimates"].push_back(EstimateJson(e));
  if (answer.measured) json["measured"] = BesideJson(*answer.measured);
  json["lower_bounds"] = Json::array();
  for (std::size_t i = 0; i < answer.sizes.size(); ++i) {
    const LowerBound& bound = answer.lower_bounds[i];
    json["lower_bounds"].push_back({{"bytes", answer.sizes[i].value()},
                                    {"bandwidth_seconds", bound.bandwidth.value()},
                                    {"latency_seconds", bound.latency.value()},
                                    {"reason", bound.reason}});
  }
  json["crossovers"] = Json::array();
  for (const FastestChange& change : answer.crossovers) {
    json["crossovers"].push_back(
        {{"from", change.from}, {"to", change.to}, {"bytes", change.bytes.value()}});
  }
  return json;
}

}  // namespace chorus::answer
