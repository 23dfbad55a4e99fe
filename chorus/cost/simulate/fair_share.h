// FairShare: how the flows on a network of links share them, max-min fair.
//
// Every flow runs at one rate over all its links. No link carries more than its bandwidth, and no
// flow could be faster without making a flow slower that is not faster than it (Bertsekas and
// Gallager, "Data Networks", section 6.5). Rates are worked out by progressive filling, and only
// for flows that are joined, over shared links, to one that came or went. Thread safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chorus {

class FairShare {
 public:
  using Flow = std::int32_t;

  // Adds a link; links are numbered from 0 in the order in which they are added. Bytes per second.
  void AddLink(double bandwidth) { links_.push_back({bandwidth, {}, 0, 0, 0, 0}); }
  std::int32_t link_count() const { return static_cast<std::int32_t>(links_.size()); }

  // A flow over these links, each as often as it stands there. Its rate is 0 until Update.
  // REQUIRES: the route is not empty and outlives the flow.
  Flow Add(std::span<const std::int32_t> route);
  void Remove(Flow flow);

  // Works out the rates after what was added and removed since the last call, and returns the
  // flows whose rate is another now. Valid until the next call of anything.
  const std::vector<Flow>& Update();
  double Rate(Flow flow) const { return flows_[flow].rate; }

 private:
  struct OnLink {
    Flow flow;
    std::int32_t place;  // in the flow's route
  };
  struct Link {
    double bandwidth;
    std::vector<OnLink> flows;
    // Of one filling:
    double left;
    std::int32_t open;  // flows without a rate
    std::uint32_t seen;
    std::uint32_t dirty;
  };
  struct FlowState {
    std::span<const std::int32_t> route;
    std::vector<std::int32_t> position;  // of each place of the route, in the link's list
    double rate = 0;
    double next_rate = 0;  // negative: none yet in this filling
    std::uint32_t seen = 0;
  };

  void MarkDirty(std::int32_t link);
  // A flow that has all its links for itself: the common case, without any search.
  bool IsAlone(Flow flow) const;
  void Collect(std::int32_t link);
  void Fill();
  void SetRate(Flow flow, double rate);

  std::vector<Link> links_;
  std::vector<FlowState> flows_;
  std::vector<Flow> free_;
  std::vector<std::int32_t> dirty_;
  std::vector<std::int32_t> component_links_;
  std::vector<Flow> component_flows_;
  std::vector<Flow> changed_;
  std::uint32_t round_ = 1;
};

}  // namespace chorus
