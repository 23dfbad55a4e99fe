#include "chorus/verify/watch.h"

#include <optional>

#include "chorus/verify/execute.h"
#include "chorus/verify/happens_before.h"
#include "chorus/verify/step_graph.h"

namespace chorus {

Result<WatchedRun> Watch(const Expansion& expansion) {
  StepGraph graph(expansion);
  std::int64_t pairs = 0, terms = 0;
  WatchedRun watched;
  std::optional<Fault> fault = graph.Connect();
  if (!fault) fault = FindRace(expansion, graph, false, pairs);
  if (!fault) fault = ExecuteOnTerms(expansion, graph, false, terms, &watched);
  if (fault) return InvalidArgument(fault->ToString());
  return watched;
}

}  // namespace chorus
