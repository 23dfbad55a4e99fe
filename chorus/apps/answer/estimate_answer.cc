#include "chorus/apps/answer/estimate_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "chorus/apps/answer/about.h"
#include "chorus/apps/answer/choose_schedule.h"
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
  return w.nodes > 1 && w.node_size > 1 ? "pipelined_hierarchical" : "ring";
}

Json EstimateJson(const Estimate& e) {
  Json json = {{"operation", e.op},
               {"algorithm", e.algorithm},
               {"has_schedule", HasSchedule(e.algorithm, e.op)},
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
                          About("--model", ParseLatencyModel(o.model.empty() ? "sum" : o.model)));
  if (model == LatencyModel::kNccl && !o.machine.latency.empty()) {
    return InvalidArgument(
        "--latency changes nothing in --model nccl, which has latencies of its own; leave one of "
        "them out");
  }
  if (o.bytes.empty() && o.op != "barrier") {
    return InvalidArgument("--bytes is missing; say how much, as --bytes 16GB or 1KiB..1GiB");
  }
  CHORUS_ASSIGN_OR_RETURN(std::vector<Bytes> sizes,
                          About("--bytes", ParseByteRange(o.bytes.empty() ? "0" : o.bytes)));
  const std::int64_t devices = machine.topology.device_count();
  CHORUS_ASSIGN_OR_RETURN(const std::int64_t ranks, RanksOn(machine, o.ranks));
  if (ranks < devices && machine.topology.definition().fabric == Fabric::kTorus) {
    const std::vector<std::int64_t> slice = NearestSlice(machine.topology, ranks);
    return InvalidArgument(fmt::format(
        "--ranks {} is no slice of the torus; the nearest is --on {}, or chorus simulate works it "
        "out",
        ranks, SliceName(machine, slice)));
  }
  CHORUS_RETURN_IF_ERROR(CheckRoot(o.root, ranks));
  CHORUS_RETURN_IF_ERROR(CheckAccumulatorRatio(o.accumulator_ratio));
  Wiring wiring = WiringOf(machine, ranks);
  return AskedEstimate{std::move(machine), std::move(wiring), model, std::move(sizes)};
}

Question QuestionOf(const EstimateQuestion& o, Bytes size) {
  return {o.op, static_cast<double>(size.value()), o.root, o.accumulator_ratio, {}};
}

// The formulas that a question asks for, listed once for all its sizes.
struct AskedFormulas {
  std::optional<EstimateBySize> one;    // by name, or the usual one
  std::optional<ComparisonBySize> all;  // where all are asked for, or the usual one is none here

  Result<std::vector<Estimate>> At(Bytes size, bool compare) const {
    const auto bytes = static_cast<double>(size.value());
    if (one) {
      CHORUS_ASSIGN_OR_RETURN(Estimate estimate, one->At(bytes));
      return std::vector<Estimate>{std::move(estimate)};
    }
    CHORUS_ASSIGN_OR_RETURN(std::vector<Estimate> estimates, all->At(bytes));
    if (!compare) estimates.resize(1);
    return estimates;
  }
};

// An algorithm that was asked for by name; what has a formula instead, if it has none here.
Result<EstimateBySize> NamedFormula(const EstimateQuestion& o, const AskedEstimate& asked,
                                    const Question& q) {
  Result<EstimateBySize> one = EstimateBySize::Of(asked.wiring, q, o.algorithm, asked.model);
  if (one.ok() || one.status().code() != StatusCode::kUnsupported) return one;
  if (!FindFormula(o.op, o.algorithm).ok()) return one;  // which names those that there are
  const Result<std::vector<Estimate>> all = CompareAlgorithms(asked.wiring, q, asked.model);
  if (!all.ok()) return one;
  std::vector<std::string> names;
  for (const Estimate& e : *all) names.push_back(e.algorithm);
  return Unsupported(fmt::format("{}; for {} here there is {}", one.status().message(), q.op,
                                 fmt::join(names, ", ")));
}

Result<AskedFormulas> FormulasOf(const EstimateQuestion& o, const AskedEstimate& asked) {
  const Question q = QuestionOf(o, asked.sizes.front());
  AskedFormulas formulas;
  if (!o.compare && !o.algorithm.empty()) {
    CHORUS_ASSIGN_OR_RETURN(formulas.one, About("--algorithm", NamedFormula(o, asked, q)));
    return formulas;
  }
  if (!o.compare) {
    const std::string usual = UsualFormula(o.op, asked.wiring, asked.model);
    Result<EstimateBySize> one = EstimateBySize::Of(asked.wiring, q, usual, asked.model);
    if (one.ok()) {
      formulas.one = *std::move(one);
      return formulas;
    }
    if (one.status().code() != StatusCode::kUnsupported) return one.status();
  }
  CHORUS_ASSIGN_OR_RETURN(formulas.all,
                          About(asked.model == LatencyModel::kNccl ? "--model" : "--on",
                                ComparisonBySize::Of(asked.wiring, q, asked.model)));
  return formulas;
}

// What there is to say of all sizes.
struct EstimatesBySize {
  std::vector<Estimate> estimates;
  std::optional<ComparisonBySize> all;  // where they are compared
  std::vector<std::string> fastest;     // of them, by size
  std::vector<std::string> remarks;
};

// The option that was given and changes nothing of what was measured; empty if none.
std::string_view OptionOfFormulas(const EstimateQuestion& o) {
  if (!o.model.empty()) return "--model";
  if (o.accumulator_ratio != 1) return "--accumulator-ratio";
  return LinkOption(o.machine, "");
}

// Errors: what was measured had another root, and nobody asks for a formula.
Status CheckMeasuredRoot(const EstimateQuestion& o, const AskedEstimate& asked,
                         EstimatesBySize& answer) {
  const std::vector<std::int64_t> roots =
      OtherRoots(asked.wiring, QuestionOf(o, asked.sizes.front()));
  if (roots.empty() || !o.algorithm.empty()) return OkStatus();
  const std::string with =
      fmt::format("{} over {} was measured on {} with root {}", o.op,
                  Counted(asked.wiring.ranks, "rank"), asked.machine.name, fmt::join(roots, ", "));
  if (!o.compare) {
    return InvalidArgument(
        fmt::format("--root {}: {}; give --root {}, or ask for a formula, as --algorithm {}",
                    o.root, with, roots.front(), UsualFormula(o.op, asked.wiring, asked.model)));
  }
  answer.remarks.push_back(fmt::format("measured is left out: {}, not {}", with, o.root));
  return OkStatus();
}

// One algorithm, or all of them. What was measured answers where nobody asks for a formula.
Result<EstimatesBySize> EstimatesOf(const EstimateQuestion& o, const AskedEstimate& asked) {
  const auto fit_of = [&](Bytes size) -> std::optional<Estimate> {
    const Question q = QuestionOf(o, size);
    if (!HasFit(asked.wiring, q)) return std::nullopt;
    return EstimateFromFit(asked.wiring, q);
  };
  EstimatesBySize answer;
  CHORUS_RETURN_IF_ERROR(CheckMeasuredRoot(o, asked, answer));
  const std::string_view link = LinkOption(o.machine, "");
  if (o.compare && !link.empty() && fit_of(asked.sizes.front())) {
    answer.remarks.push_back(
        fmt::format("measured is left out: it was measured on the link of {}, and {} says another",
                    asked.machine.name, link));
  }
  std::optional<AskedFormulas> formulas;
  for (const Bytes size : asked.sizes) {
    const std::optional<Estimate> measured = fit_of(size);  // on the link as it was
    const bool beside = measured && link.empty();
    if (measured && !o.compare && o.algorithm.empty()) {
      if (const std::string_view option = OptionOfFormulas(o); !option.empty()) {
        return InvalidArgument(fmt::format(
            "{} is of formulas, and {} over {} was measured on {}; leave it out, or ask for a "
            "formula, as --algorithm {}",
            option, o.op, Counted(asked.wiring.ranks, "rank"), asked.machine.name,
            UsualFormula(o.op, asked.wiring, asked.model)));
      }
      answer.estimates.push_back(*measured);
      continue;
    }
    if (!formulas) {
      CHORUS_ASSIGN_OR_RETURN(formulas, FormulasOf(o, asked));
    }
    if (beside && o.compare) answer.estimates.push_back(*measured);
    CHORUS_ASSIGN_OR_RETURN(const std::vector<Estimate> some, formulas->At(size, o.compare));
    answer.fastest.push_back(some.front().algorithm);
    answer.estimates.insert(answer.estimates.end(), some.begin(), some.end());
  }
  if (formulas) answer.all = std::move(formulas->all);
  return answer;
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

// Where the fastest of the formulas changes between two sizes that follow each other.
Result<std::vector<FastestChange>> ChangesOf(const AskedEstimate& asked,
                                             const EstimatesBySize& by_size) {
  std::vector<FastestChange> changes;
  for (std::size_t i = 1; i < asked.sizes.size(); ++i) {
    const std::string &before = by_size.fastest[i - 1], &now = by_size.fastest[i];
    if (now == before || asked.sizes[i - 1] >= asked.sizes[i]) continue;
    CHORUS_ASSIGN_OR_RETURN(
        const Bytes from, by_size.all->FasterFrom(asked.sizes[i - 1], asked.sizes[i], before, now));
    changes.push_back({before, now, from});
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
                          About("--bytes", ParseByteRange(o.bytes.empty() ? "0" : o.bytes)));
  if (sizes.size() > 1) {
    return InvalidArgument(fmt::format("--bytes {} are {} sizes; read takes one, as --bytes 1MiB",
                                       o.bytes, sizes.size()));
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
  return About("--op", NotFound(fmt::format("there is no operation '{}'; {}", op,
                                            NearestAdvice(op, known))));
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
  // Formulas that are known fail with figures of a link with which nothing ends, or with a model.
  CHORUS_ASSIGN_OR_RETURN(EstimatesBySize by_size, About(LinkOption(question.machine, "--model"),
                                                         EstimatesOf(question, asked)));
  answer.estimates = std::move(by_size.estimates);
  answer.remarks = std::move(by_size.remarks);
  for (const Bytes size : asked.sizes) {
    answer.lower_bounds.push_back(LowerBoundOf(asked.wiring, QuestionOf(question, size)));
  }
  if (question.compare) {
    CHORUS_ASSIGN_OR_RETURN(answer.crossovers, ChangesOf(asked, by_size));
  } else if (answer.estimates.size() == 1) {
    const Result<std::vector<Estimate>> fastest =
        CompareAlgorithms(asked.wiring, QuestionOf(question, asked.sizes[0]), asked.model);
    if (fastest.ok()) answer.fastest = fastest->front();
  }
  if (measured) answer.measured = SetBeside(*measured, answer.estimates[0]);
  answer.wiring = std::move(asked.wiring);
  answer.model = asked.model;
  answer.sizes = std::move(asked.sizes);
  return answer;
}

std::vector<std::string> WithoutSchedule(const std::vector<Estimate>& estimates) {
  std::vector<std::string> names;
  for (const Estimate& e : estimates) {
    if (e.algorithm == "measured" || HasSchedule(e.algorithm, e.op)) continue;
    if (std::find(names.begin(), names.end(), e.algorithm) == names.end()) {
      names.push_back(e.algorithm);
    }
  }
  return names;
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
  json["remarks"] = answer.remarks;
  json["crossovers"] = Json::array();
  for (const FastestChange& change : answer.crossovers) {
    json["crossovers"].push_back(
        {{"from", change.from}, {"to", change.to}, {"bytes", change.bytes.value()}});
  }
  return json;
}

}  // namespace chorus::answer
