#include "chorus/cost/simulate/network.h"

#include <algorithm>
#include <map>

namespace chorus {

Network::Network(const Topology& topology, std::int64_t shift, const SimulateOptions& options)
    : topology_(topology),
      shift_(shift),
      joins_(shift < topology.device_count()),
      options_(options) {}

double Network::SlownessOf(std::int64_t device) const {
  double factor = 1;
  for (const SlowDevice& slow : options_.slow_devices) {
    if (slow.device == device) factor = std::max(factor, slow.factor);
  }
  return factor;
}

double Network::SlownessOfLink(LinkId link) const {
  double factor = 1;
  for (const SlowDevice& slow : options_.slow_devices) {
    if (topology_.Touches(link, slow.device)) factor = std::max(factor, slow.factor);
  }
  for (const SlowLink& slow : options_.slow_links) {
    if (slow.link == link) factor = std::max(factor, slow.factor);
  }
  return factor;
}

std::int32_t Network::NumberOf(LinkId link) {
  if (joins_) link = topology_.Representative(link, shift_);
  const auto [found, is_new] = number_of_.emplace(link, share_.link_count());
  if (is_new) {
    ids_.push_back(link);
    bandwidths_.push_back(topology_.Link(link).bandwidth.value() / SlownessOfLink(link));
    share_.AddLink(bandwidths_.back());
  }
  return found->second;
}

std::int32_t Network::RouteBetween(std::int64_t from, std::int64_t to) {
  const std::uint64_t key = static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint64_t>(to);
  const auto [found, is_new] = route_of_.emplace(key, static_cast<std::int32_t>(routes_.size()));
  if (!is_new) return found->second;
  std::vector<LinkId> links;
  topology_.AppendRoute(from, to, links);
  Route& route = routes_.emplace_back();
  for (LinkId link : links) {
    route.latency += topology_.Link(link).latency.value();
    route.links.push_back(NumberOf(link));
  }
  return found->second;
}

namespace {

bool SlowDevicesAreSymmetric(const std::vector<SlowDevice>& slow, std::int64_t shift,
                             std::int64_t devices) {
  std::map<std::int64_t, double> factors;
  for (const SlowDevice& s : slow) {
    double& factor = factors[s.device];
    factor = std::max(factor, s.factor);
  }
  return std::all_of(factors.begin(), factors.end(), [&](const auto& entry) {
    const auto moved = factors.find((entry.first + shift) % devices);
    return moved != factors.end() && moved->second == entry.second;
  });
}

}  // namespace

std::int64_t ShiftOf(const Topology& topology, const std::vector<SimulatedCall>& calls,
                     const std::vector<std::int64_t>& shifts, const SimulateOptions& options) {
  const std::int64_t devices = topology.device_count();
  const bool everywhere = std::all_of(calls.begin(), calls.end(), [&](const SimulatedCall& call) {
    return call.group_size == devices && call.devices.empty();
  });
  // With jitter no two messages are alike; a slow link of its own is on no orbit but its own.
  if (!options.symmetry || !everywhere || options.jitter != 0 || !options.slow_links.empty()) {
    return devices;
  }
  for (std::int64_t shift = 1; shift < devices; ++shift) {
    if (devices % shift != 0 || !topology.IsSymmetric(shift)) continue;
    const bool all = std::all_of(shifts.begin(), shifts.end(),
                                 [&](std::int64_t other) { return shift % other == 0; });
    if (all && SlowDevicesAreSymmetric(options.slow_devices, shift, devices)) return shift;
  }
  return devices;
}

}  // namespace chorus
