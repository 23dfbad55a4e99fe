#include "chorus/verify/verify.h"

#include <algorithm>

#include "chorus/verify/execute.h"
#include "chorus/verify/happens_before.h"
#include "chorus/verify/step_graph.h"

namespace chorus {

Proof& Proof::operator+=(const Proof& other) {
  cases += other.cases;
  steps += other.steps;
  messages += other.messages;
  pairs += other.pairs;
  terms += other.terms;
  return *this;
}

Verdict Prove(const Expansion& expansion, bool in_place) {
  Verdict verdict;
  verdict.group_size = expansion.group_size;
  verdict.root = expansion.root;
  verdict.in_place = in_place;
  StepGraph graph(expansion);
  verdict.proof.cases = 1;
  verdict.proof.steps = graph.size();
  verdict.fault = graph.Connect();
  if (!verdict.ok()) return verdict;
  verdict.proof.messages = graph.messages();
  verdict.fault = FindRace(expansion, graph, in_place, verdict.proof.pairs);
  if (!verdict.ok()) return verdict;
  verdict.fault = ExecuteOnTerms(expansion, graph, in_place, verdict.proof.terms);
  if (verdict.ok() && expansion.op == OpKind::kBarrier) {
    verdict.fault = FindEarlyExit(expansion, graph);
  }
  return verdict;
}

Result<Verdict> Verify(const Schedule& schedule, std::int64_t group_size) {
  Verdict all;
  all.group_size = group_size;
  // A group of no rank is refused by Expand.
  const std::int64_t roots = HasRoot(schedule.op()) ? std::max<std::int64_t>(group_size, 1) : 1;
  for (std::int64_t root = 0; root < roots; ++root) {
    CHORUS_ASSIGN_OR_RETURN(const Expansion expansion, Expand(schedule, group_size, root));
    for (bool in_place : {false, true}) {
      if (in_place && !HasInPlace(schedule.op())) continue;
      Verdict one = Prove(expansion, in_place);
      one.proof += all.proof;
      if (!one.ok()) return one;
      all.proof = one.proof;
    }
  }
  return all;
}

}  // namespace chorus
