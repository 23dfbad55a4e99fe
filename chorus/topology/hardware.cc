#include "chorus/topology/hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "chorus/base/nearest.h"
#include "chorus/base/rate.h"

namespace chorus {

const std::vector<FigureKey>& FigureKeys() {
  static const std::vector<FigureKey> keys = {
      {"peak_bf16", FigureUnit::kFlopRate, "dense bf16 products"},
      {"peak_fp8", FigureUnit::kFlopRate, "dense fp8 products"},
      {"peak_f32", FigureUnit::kFlopRate, "f32 products"},
      {"memory", FigureUnit::kBytes, "memory of a device"},
      {"memory_bandwidth", FigureUnit::kBandwidth, "its memory bandwidth"},
      {"links", FigureUnit::kCount, "links of a device"},
      {"link_bandwidth", FigureUnit::kBandwidth,
       "per direction: switch: out of a device; mesh, torus: a link"},
      {"switch_ports", FigureUnit::kCount, "ports of one switch chip"},
      {"switch_port_bandwidth", FigureUnit::kBandwidth, "of one of them"},
      {"link_latency", FigureUnit::kSeconds, "from device to device, or a hop"},
      {"nics", FigureUnit::kCount, "ports between nodes, of a node"},
      {"nic_bandwidth", FigureUnit::kBandwidth, "of one port, per direction"},
      {"nic_latency", FigureUnit::kSeconds, "from node to node"},
      {"dcn_bandwidth", FigureUnit::kBandwidth, "data-centre network, of a device"},
      {"host_bandwidth", FigureUnit::kBandwidth, "to the host, per direction"},
  };
  return keys;
}

namespace {

Result<double> ParseCount(std::string_view text) {
  std::int64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc() && rest == end && count >= 0) return static_cast<double>(count);
  return InvalidArgument(
      fmt::format("'{}' is no count; write a whole number without a unit, as 18", text));
}

Result<double> ParseOfUnit(FigureUnit unit, std::string_view text) {
  switch (unit) {
    case FigureUnit::kBandwidth: {
      CHORUS_ASSIGN_OR_RETURN(const BytesPerSecond value, ParseBandwidth(text));
      return value.value();
    }
    case FigureUnit::kSeconds: {
      CHORUS_ASSIGN_OR_RETURN(const Seconds value, ParseSeconds(text));
      return value.value();
    }
    case FigureUnit::kFlopRate: {
      CHORUS_ASSIGN_OR_RETURN(const FlopsPerSecond value, ParseFlopRate(text));
      return value.value();
    }
    case FigureUnit::kBytes: {
      if (text.find('B') == std::string_view::npos) {
        return InvalidArgument(fmt::format("'{}' is no size; write for example 80GB", text));
      }
      CHORUS_ASSIGN_OR_RETURN(const Bytes value, ParseBytes(text));
      return static_cast<double>(value.value());
    }
    case FigureUnit::kCount:
      break;
  }
  return ParseCount(text);
}

}  // namespace

Result<double> ParseFigure(const FigureKey& key, std::string_view text) {
  CHORUS_ASSIGN_OR_RETURN(const double value, ParseOfUnit(key.unit, text));
  if (value > 0 || key.unit == FigureUnit::kSeconds) return value;
  return InvalidArgument(
      fmt::format("'{}' is nothing; leave {} out where there is none", text, key.key));
}

std::string FigureText(FigureUnit unit, double value) {
  switch (unit) {
    case FigureUnit::kBandwidth:
      return ToString(BytesPerSecond(value));
    case FigureUnit::kSeconds:
      return ToString(Seconds(value));
    case FigureUnit::kFlopRate:
      return ToString(FlopsPerSecond(value));
    case FigureUnit::kBytes:
      return DecimalBytes(value);
    case FigureUnit::kCount:
      break;
  }
  return fmt::format("{:.0f}", value);
}

std::string_view Name(WrapRule rule) {
  constexpr std::string_view kNames[] = {"always", "never", "whole_axis", "cubes"};
  return kNames[static_cast<int>(rule)];
}

const Figure* Hardware::Find(std::string_view key) const {
  const auto found = figures.find(key);
  return found == figures.end() ? nullptr : &found->second;
}

double Hardware::ValueOr(std::string_view key, double otherwise) const {
  const Figure* figure = Find(key);
  return figure == nullptr ? otherwise : figure->value;
}

Result<double> Hardware::Value(std::string_view key) const {
  if (const Figure* figure = Find(key); figure != nullptr) return figure->value;
  return NotFound(
      fmt::format("the catalogue has no {} of {}; add it in a file for --catalogue", key, name));
}

void Catalogue::Merge(const Catalogue& other) {
  for (const Hardware& hardware : other.hardware_) {
    const auto same = std::find_if(hardware_.begin(), hardware_.end(),
                                   [&](const Hardware& h) { return h.name == hardware.name; });
    if (same == hardware_.end()) {
      hardware_.push_back(hardware);
    } else {
      *same = hardware;
    }
  }
}

Result<const Hardware*> Catalogue::Find(std::string_view name) const {
  const auto lower = [](std::string_view text) {
    std::string copy(text);
    for (char& c : copy) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return copy;
  };
  const std::string wanted = lower(name);
  const bool prefixed = wanted.starts_with("tpu-") || wanted.starts_with("tpu_");
  for (const std::string& word : {wanted, prefixed ? wanted.substr(4) : wanted}) {
    for (const Hardware& hardware : hardware_) {
      if (lower(hardware.name) == word) return &hardware;
    }
  }
  return NotFound(
      fmt::format("there is no hardware '{}'; {}", name, NearestAdvice(wanted, Names())));
}

std::vector<std::string> Catalogue::Names() const {
  std::vector<std::string> names;
  names.reserve(hardware_.size());
  for (const Hardware& hardware : hardware_) names.push_back(hardware.name);
  return names;
}

}  // namespace chorus
