// Network: the links of a topology as the simulator shares them out: routes looked up once, links
// of one orbit as one link, slow devices and links slowed. Thread safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "chorus/cost/simulate/fair_share.h"
#include "chorus/cost/simulate/simulate.h"

namespace chorus {

class Network {
 public:
  // `shift`: links are joined to their orbits under it; device_count() joins none.
  // REQUIRES: topology.IsSymmetric(shift); both outlive the network.
  Network(const Topology& topology, std::int64_t shift, const SimulateOptions& options);

  struct Route {
    double latency = 0;               // seconds
    std::vector<std::int32_t> links;  // of `share`
  };
  // The number of the route between two devices. The same number again for the same two.
  std::int32_t RouteBetween(std::int64_t from, std::int64_t to);
  const Route& route(std::int32_t number) const { return routes_[number]; }

  FairShare& share() { return share_; }
  // The link behind a number of `share`, and its bandwidth, slowed.
  LinkId IdOf(std::int32_t link) const { return ids_[link]; }
  double BandwidthOf(std::int32_t link) const { return bandwidths_[link]; }
  // How many times slower a device is.
  double SlownessOf(std::int64_t device) const;

 private:
  std::int32_t NumberOf(LinkId link);
  double SlownessOfLink(LinkId link) const;

  const Topology& topology_;
  std::int64_t shift_;
  bool joins_;
  const SimulateOptions& options_;
  FairShare share_;
  std::vector<Route> routes_;
  std::unordered_map<std::uint64_t, std::int32_t> route_of_;  // by from and to
  std::unordered_map<LinkId, std::int32_t> number_of_;
  std::vector<LinkId> ids_;
  std::vector<double> bandwidths_;
};

// The smallest shift under which topology and slow devices are symmetric and that every one of
// `shifts` divides, those of the calls' schedules; device_count() if there is none but that, or
// where options or calls allow no symmetry.
std::int64_t ShiftOf(const Topology& topology, const std::vector<SimulatedCall>& calls,
                     const std::vector<std::int64_t>& shifts, const SimulateOptions& options);

}  // namespace chorus
