#include "chorus/cost/simulate/fair_share.h"

#include <algorithm>
#include <limits>
#include <queue>

namespace chorus {

void FairShare::MarkDirty(std::int32_t link) {
  if (links_[link].dirty == round_) return;
  links_[link].dirty = round_;
  dirty_.push_back(link);
}

FairShare::Flow FairShare::Add(std::span<const std::int32_t> route) {
  Flow flow = 0;
  if (free_.empty()) {
    flow = static_cast<Flow>(flows_.size());
    flows_.emplace_back();
  } else {
    flow = free_.back();
    free_.pop_back();
  }
  FlowState& state = flows_[flow];
  state.route = route;
  state.rate = 0;
  state.position.resize(route.size());
  for (std::size_t i = 0; i < route.size(); ++i) {
    Link& link = links_[route[i]];
    state.position[i] = static_cast<std::int32_t>(link.flows.size());
    link.flows.push_back({flow, static_cast<std::int32_t>(i)});
    MarkDirty(route[i]);
  }
  return flow;
}

void FairShare::Remove(Flow flow) {
  FlowState& state = flows_[flow];
  for (std::size_t i = 0; i < state.route.size(); ++i) {
    Link& link = links_[state.route[i]];
    const std::int32_t hole = state.position[i];
    // The last of the list takes the place of the one that goes.
    const OnLink last = link.flows.back();
    link.flows[hole] = last;
    flows_[last.flow].position[last.place] = hole;
    link.flows.pop_back();
    MarkDirty(state.route[i]);
  }
  free_.push_back(flow);
}

bool FairShare::IsAlone(Flow flow) const {
  const std::span<const std::int32_t> route = flows_[flow].route;
  return std::all_of(route.begin(), route.end(),
                     [&](std::int32_t link) { return links_[link].flows.size() == 1; });
}

void FairShare::SetRate(Flow flow, double rate) {
  if (flows_[flow].rate == rate) return;
  flows_[flow].rate = rate;
  changed_.push_back(flow);
}

const std::vector<FairShare::Flow>& FairShare::Update() {
  changed_.clear();
  for (std::int32_t link : dirty_) {
    const std::vector<OnLink>& flows = links_[link].flows;
    if (flows.empty() || links_[link].seen == round_) continue;
    if (flows.size() == 1 && IsAlone(flows[0].flow)) {
      double rate = std::numeric_limits<double>::infinity();
      for (std::int32_t l : flows_[flows[0].flow].route) {
        rate = std::min(rate, links_[l].bandwidth);
        links_[l].seen = round_;
      }
      SetRate(flows[0].flow, rate);
      continue;
    }
    Collect(link);
    Fill();
  }
  dirty_.clear();
  ++round_;
  return changed_;
}

// All links and flows that are joined to `link`.
void FairShare::Collect(std::int32_t link) {
  component_links_.assign(1, link);
  component_flows_.clear();
  links_[link].seen = round_;
  for (std::size_t i = 0; i < component_links_.size(); ++i) {
    Link& here = links_[component_links_[i]];
    here.left = here.bandwidth;
    here.open = static_cast<std::int32_t>(here.flows.size());
    for (const OnLink& on : here.flows) {
      FlowState& flow = flows_[on.flow];
      if (flow.seen == round_) continue;
      flow.seen = round_;
      flow.next_rate = -1;
      component_flows_.push_back(on.flow);
      for (std::int32_t next : flow.route) {
        if (links_[next].seen == round_) continue;
        links_[next].seen = round_;
        component_links_.push_back(next);
      }
    }
  }
}

// Again and again the link that gives its flows least settles them. A link's share only grows while
// others are settled, so an old entry of the heap is renewed when it comes up.
void FairShare::Fill() {
  using Entry = std::pair<double, std::int32_t>;  // share, link
  std::vector<Entry> entries;
  entries.reserve(component_links_.size());
  for (std::int32_t l : component_links_) {
    if (links_[l].open > 0) entries.emplace_back(links_[l].bandwidth / links_[l].open, l);
  }
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap(std::greater<>(),
                                                                      std::move(entries));
  while (!heap.empty()) {
    const auto [share, l] = heap.top();
    heap.pop();
    Link& link = links_[l];
    if (link.open == 0) continue;
    const double now = std::max(link.left, 0.0) / link.open;
    if (now > share * (1 + 1e-12)) {
      heap.emplace(now, l);
      continue;
    }
    for (const OnLink& on : link.flows) {
      FlowState& flow = flows_[on.flow];
      if (flow.next_rate >= 0) continue;
      flow.next_rate = share;
      for (std::int32_t other : flow.route) {
        links_[other].left -= share;
        --links_[other].open;
      }
    }
  }
  for (Flow flow : component_flows_) SetRate(flow, flows_[flow].next_rate);
}

}  // namespace chorus
