#include "chorus/cost/formula/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chorus/base/nearest.h"
#include "chorus/base/rate.h"
#include "chorus/cost/formula/nccl_model.h"
#include "chorus/cost/formula/phases.h"
#include "chorus/cost/formula/timetable.h"

namespace chorus {
namespace {

// The seconds of one phase, as a term with its reason.
Term TermOf(const Phase& phase, const Question& q, LatencyModel model) {
  const double moved = phase.bytes / phase.bandwidth.value();
  Term term;
  term.bandwidth = Seconds(phase.rounds * moved);
  term.latency = Seconds(phase.rounds * phase.latency.value());
  std::string rounds = fmt::format("{:g} x {}", phase.rounds, ToString(phase.latency));
  if (model == LatencyModel::kMax) {
    // The longer of the two counts, in each round.
    (phase.latency.value() >= moved ? term.bandwidth : term.latency) = Seconds(0);
  }
  if (phase.bytes == 0) {
    term.reason = fmt::format("{} = {}", rounds, ToString(term.latency));
    return term;
  }
  std::string moves =
      fmt::format("{} x {} / {} per direction{} = {}", phase.factor, DecimalBytes(q.bytes),
                  ToString(phase.bandwidth), phase.link == "a link" ? "" : " (" + phase.link + ")",
                  ToString(Seconds(phase.rounds * moved)));
  if (model == LatencyModel::kSum) {
    term.reason = fmt::format("{}; latency {} = {}", moves, rounds, ToString(term.latency));
  } else if (term.latency.value() > 0) {
    term.reason =
        fmt::format("{} = {}, as a round moves {} in {} only", rounds, ToString(term.latency),
                    DecimalBytes(phase.bytes), ToString(Seconds(moved)));
  } else {
    term.reason = moves;
  }
  return term;
}

void AddNcclTerms(const NcclTime& t, const Question& q, Estimate& e) {
  e.protocol = std::string(t.protocol);
  Term moved;
  moved.bandwidth = t.bandwidth + t.saturation;
  moved.reason =
      fmt::format("{} / {} with {} = {}; saturation {}", DecimalBytes(q.bytes),
                  ToString(t.effective), t.protocol, ToString(t.bandwidth), ToString(t.saturation));
  Term waited;
  waited.latency = t.launch + t.hops;
  waited.reason = fmt::format("launch {} + hops {}", ToString(t.launch), ToString(t.hops));
  e.terms = {moved, waited};
}

Seconds Total(const Term& term) { return term.bandwidth + term.latency; }

void AddPhaseTerms(const Phases& phases, const Question& q, Estimate& e) {
  for (const Phase& phase : phases.phases) {
    if (phase.rounds > 0) e.terms.push_back(TermOf(phase, q, e.model));
  }
  if (phases.together == Together::kOneAfterAnother || e.terms.size() < 2) return;
  // In pipeline the slowest decides; it stands first, and the others cost nothing more.
  std::stable_sort(e.terms.begin(), e.terms.end(),
                   [](const Term& a, const Term& b) { return Total(a) > Total(b); });
  for (std::size_t i = 1; i < e.terms.size(); ++i) {
    e.terms[i].reason = "hidden behind it: " + e.terms[i].reason;
    e.terms[i].bandwidth = e.terms[i].latency = Seconds(0);
  }
}

}  // namespace

std::string_view Name(LatencyModel model) {
  constexpr std::string_view kNames[] = {"sum", "max", "nccl"};
  return kNames[static_cast<int>(model)];
}

Result<LatencyModel> ParseLatencyModel(std::string_view name) {
  for (LatencyModel model : {LatencyModel::kSum, LatencyModel::kMax, LatencyModel::kNccl}) {
    if (Name(model) == name) return model;
  }
  return NotFound(fmt::format("there is no latency model '{}'; {}", name,
                              NearestAdvice(name, {"sum", "max", "nccl"})));
}

std::string Estimate::Bound() const {
  if (time.value() == 0) return "nothing takes time";
  if (bandwidth.value() > 2 * latency.value()) return "bandwidth bound";
  if (latency.value() > 2 * bandwidth.value()) return "latency bound";
  return "bound by latency and bandwidth alike";
}

std::string Estimate::Reason() const {
  std::string reason;
  for (const Term& term : terms) reason += term.reason + "; ";
  return reason + Bound();
}

double BusFactor(std::string_view op, std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  if (op == "all_reduce") return 2 * (n - 1) / n;
  for (std::string_view gathers :
       {"all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"}) {
    if (op == gathers) return (n - 1) / n;
  }
  return 1;
}

Phases Phases::At(double bytes, bool hides_latency) const {
  if (messages != nullptr) return messages->At(bytes, hides_latency);
  Phases scaled = *this;
  for (Phase& phase : scaled.phases) phase.bytes *= bytes;
  return scaled;
}

Result<EstimateBySize> EstimateBySize::Of(const Wiring& w, const Question& q,
                                          std::string_view algorithm, LatencyModel model) {
  if (w.ranks < 1) return InvalidArgument(fmt::format("{} ranks; give 1 or more", w.ranks));
  if (q.root < 0 || q.root >= w.ranks) {
    return InvalidArgument(
        fmt::format("root {} of {} ranks; give 0 to {}", q.root, w.ranks, w.ranks - 1));
  }
  CHORUS_ASSIGN_OR_RETURN(const Formula* formula, FindFormula(q.op, algorithm));
  EstimateBySize e(w, q, std::string(algorithm), model);
  e.question_.bytes = 1;
  if (model == LatencyModel::kNccl) {
    CHORUS_RETURN_IF_ERROR(NcclModel(w, e.question_, algorithm).status());
    return e;
  }
  CHORUS_ASSIGN_OR_RETURN(e.question_.numbers, NumbersOf(algorithm));
  if (w.ranks > 1) {
    CHORUS_ASSIGN_OR_RETURN(e.phases_, formula->phases(w, e.question_));
  }
  return e;
}

Result<Estimate> EstimateBySize::At(double bytes) const {
  if (!(bytes >= 0) || !std::isfinite(bytes)) {
    return InvalidArgument(fmt::format("a size of {} bytes; give 0 or more", bytes));
  }
  Question q = question_;
  q.bytes = bytes;
  Estimate e;
  e.op = q.op;
  e.algorithm = algorithm_;
  e.model = model_;
  e.bytes = bytes;
  e.ranks = wiring_.ranks;
  if (model_ == LatencyModel::kNccl) {
    CHORUS_ASSIGN_OR_RETURN(const NcclTime t, NcclModel(wiring_, q, algorithm_));
    AddNcclTerms(t, q, e);
  } else {
    AddPhaseTerms(phases_.At(bytes, model_ == LatencyModel::kMax), q, e);
  }
  for (const Term& term : e.terms) {
    e.bandwidth += term.bandwidth;
    e.latency += term.latency;
  }
  e.time = e.bandwidth + e.latency;
  if (!std::isfinite(e.time.value())) {
    return InvalidArgument(
        "it would never end: a latency is too long, or a bandwidth too little, for a time that can "
        "be told");
  }
  if (e.time.value() > 0) {
    e.algbw = BytesPerSecond(bytes / e.time.value());
    e.busbw = BytesPerSecond(e.algbw.value() * BusFactor(q.op, wiring_.ranks));
  }
  return e;
}

Result<Estimate> EstimateCollective(const Wiring& w, const Question& q, std::string_view algorithm,
                                    LatencyModel model) {
  CHORUS_ASSIGN_OR_RETURN(const EstimateBySize by_size, EstimateBySize::Of(w, q, algorithm, model));
  return by_size.At(q.bytes);
}

std::string ComparedName(std::string_view family, const Wiring& w) {
  if (family == "knomial:") return "knomial:4";
  if ((family == "two_level:" || family == "hierarchical:") && w.nodes > 1 && w.node_size > 1) {
    return fmt::format("{}{}", family, w.node_size);
  }
  if (family == "torus:" && w.fabric == Fabric::kTorus && w.axes.size() > 1) {
    std::string name = "torus";
    for (const TorusAxis& axis : w.axes) {
      name += fmt::format("{}{}", name == "torus" ? ':' : 'x', axis.size);
    }
    return name;
  }
  return "";
}

Result<ComparisonBySize> ComparisonBySize::Of(const Wiring& w, const Question& q,
                                              LatencyModel model) {
  ComparisonBySize comparison;
  Status why;
  for (const Formula& formula : AllFormulas()) {
    if (formula.op != q.op) continue;
    std::string name(formula.algorithm);
    if (name.back() == ':') name = ComparedName(name, w);
    if (name.empty()) continue;
    Result<EstimateBySize> e = EstimateBySize::Of(w, q, name, model);
    if (e.ok()) {
      comparison.all_.push_back(*std::move(e));
    } else if (e.status().code() != StatusCode::kUnsupported) {
      return e.status();
    } else {
      why = e.status();
    }
  }
  if (!comparison.all_.empty()) return comparison;
  if (why.ok()) return FindFormula(q.op, "").status();
  // Of all alike, and not of the algorithm that came last.
  if (model != LatencyModel::kNccl) CHORUS_RETURN_IF_ERROR(NeedsPorts(w, q.op));
  return why;
}

Result<std::vector<Estimate>> ComparisonBySize::At(double bytes) const {
  std::vector<Estimate> all;
  for (const EstimateBySize& one : all_) {
    CHORUS_ASSIGN_OR_RETURN(all.emplace_back(), one.At(bytes));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Estimate& a, const Estimate& b) { return a.time < b.time; });
  return all;
}

Result<const EstimateBySize*> ComparisonBySize::Find(std::string_view algorithm) const {
  for (const EstimateBySize& one : all_) {
    if (one.algorithm() == algorithm) return &one;
  }
  return NotFound(fmt::format("{} is none of the algorithms that are compared", algorithm));
}

// Times are straight lines in bytes but for some bends: the line through both ends tells nearly
// where they cross, and every third time the middle is tried, so that bends cost little.
Result<Bytes> ComparisonBySize::FasterFrom(Bytes low, Bytes high, std::string_view before,
                                           std::string_view now) const {
  CHORUS_ASSIGN_OR_RETURN(const EstimateBySize* one, Find(before));
  CHORUS_ASSIGN_OR_RETURN(const EstimateBySize* other, Find(now));
  const auto gain = [&](std::int64_t bytes) -> Result<double> {
    CHORUS_ASSIGN_OR_RETURN(const Estimate a, one->At(static_cast<double>(bytes)));
    CHORUS_ASSIGN_OR_RETURN(const Estimate b, other->At(static_cast<double>(bytes)));
    return a.time.value() - b.time.value();
  };
  std::int64_t begin = low.value(), end = high.value();
  CHORUS_ASSIGN_OR_RETURN(double at_begin, gain(begin));
  CHORUS_ASSIGN_OR_RETURN(double at_end, gain(end));
  for (int turn = 1; end - begin > 1; ++turn) {
    const bool bisects = turn % 3 == 0 || at_begin >= at_end;
    const double share = bisects ? 0.5 : at_begin / (at_begin - at_end);
    const auto step = static_cast<std::int64_t>(share * static_cast<double>(end - begin));
    const std::int64_t middle = begin + std::clamp<std::int64_t>(step, 1, end - begin - 1);
    CHORUS_ASSIGN_OR_RETURN(const double there, gain(middle));
    (there > 0 ? end : begin) = middle;
    (there > 0 ? at_end : at_begin) = there;
  }
  return Bytes(end);
}

Result<std::vector<Estimate>> CompareAlgorithms(const Wiring& w, const Question& q,
                                                LatencyModel model) {
  CHORUS_ASSIGN_OR_RETURN(const ComparisonBySize comparison, ComparisonBySize::Of(w, q, model));
  return comparison.At(q.bytes);
}

}  // namespace chorus
