#include "chorus/cost/formula/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chorus/base/nearest.h"
#include "chorus/base/rate.h"
#include "chorus/cost/formula/nccl_model.h"
#include "chorus/cost/formula/phases.h"

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

Result<Estimate> EstimateCollective(const Wiring& w, const Question& q, std::string_view algorithm,
                                    LatencyModel model) {
  if (!(q.bytes >= 0) || !std::isfinite(q.bytes)) {
    return InvalidArgument(fmt::format("a size of {} bytes; give 0 or more", q.bytes));
  }
  if (w.ranks < 1) return InvalidArgument(fmt::format("{} ranks; give 1 or more", w.ranks));
  if (q.root < 0 || q.root >= w.ranks) {
    return InvalidArgument(
        fmt::format("root {} of {} ranks; give 0 to {}", q.root, w.ranks, w.ranks - 1));
  }
  Estimate e;
  e.op = q.op;
  e.algorithm = std::string(algorithm);
  e.model = model;
  e.bytes = q.bytes;
  e.ranks = w.ranks;
  if (model == LatencyModel::kNccl) {
    CHORUS_RETURN_IF_ERROR(FindFormula(q.op, algorithm).status());
    CHORUS_ASSIGN_OR_RETURN(const NcclTime t, NcclModel(w, q, algorithm));
    AddNcclTerms(t, q, e);
  } else {
    CHORUS_ASSIGN_OR_RETURN(const Formula* formula, FindFormula(q.op, algorithm));
    Question with_numbers = q;
    CHORUS_ASSIGN_OR_RETURN(with_numbers.numbers, NumbersOf(algorithm));
    with_numbers.hides_latency = model == LatencyModel::kMax;
    if (w.ranks > 1) {
      CHORUS_ASSIGN_OR_RETURN(const Phases phases, formula->phases(w, with_numbers));
      AddPhaseTerms(phases, q, e);
    }
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
    e.algbw = BytesPerSecond(q.bytes / e.time.value());
    e.busbw = BytesPerSecond(e.algbw.value() * BusFactor(q.op, w.ranks));
  }
  return e;
}

std::string ComparedName(std::string_view family, const Wiring& w) {
  if (family == "knomial:") return "knomial:4";
  if (family == "two_level:" && w.nodes > 1 && w.node_size > 1) {
    return fmt::format("two_level:{}", w.node_size);
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

Result<std::vector<Estimate>> CompareAlgorithms(const Wiring& w, const Question& q,
                                                LatencyModel model) {
  std::vector<Estimate> all;
  Status why;
  for (const Formula& formula : AllFormulas()) {
    if (formula.op != q.op) continue;
    std::string name(formula.algorithm);
    if (name.back() == ':') name = ComparedName(name, w);
    if (name.empty()) continue;
    Result<Estimate> e = EstimateCollective(w, q, name, model);
    if (e.ok()) {
      all.push_back(*std::move(e));
    } else if (e.status().code() != StatusCode::kUnsupported) {
      return e.status();
    } else {
      why = e.status();
    }
  }
  if (all.empty() && !why.ok()) return why;
  if (all.empty()) return FindFormula(q.op, "").status();
  std::stable_sort(all.begin(), all.end(),
                   [](const Estimate& a, const Estimate& b) { return a.time < b.time; });
  return all;
}

}  // namespace chorus
