#include "chorus/apps/answer/machine_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "chorus/apps/answer/about.h"
#include "chorus/base/rate.h"
#include "chorus/probe/read_file.h"

namespace chorus::answer {
namespace {

// What --bandwidth or --latency would change is there, or else what there is to change instead.
Status CheckFabricLink(const MachineOptions& options, const Topology::Definition& d) {
  const char* option = options.bandwidth.empty() ? "--latency" : "--bandwidth";
  const char* figure = options.bandwidth.empty() ? "latency" : "bandwidth";
  if (d.node_size > 1) return OkStatus();
  if (d.nodes == 1) {
    return InvalidArgument(
        fmt::format("{} is of the links between devices, and {} is one device; leave it out",
                    option, options.on));
  }
  const bool is_file = options.on.find_first_of("./") != std::string::npos;
  return InvalidArgument(fmt::format(
      "{} is of the links inside a node, and the nodes of {} have one device; what joins them is "
      "nic_{} in {}",
      option, options.on, figure,
      is_file ? "that file" : fmt::format("a machine file with on = \"{}\"", options.on)));
}

}  // namespace

Result<Catalogue> ReadCatalogue(const std::vector<std::string>& files) {
  Catalogue catalogue = Catalogue::BuiltIn();
  for (const std::string& path : files) {
    CHORUS_ASSIGN_OR_RETURN(const std::string text,
                            ReadFile(path, "catalogue", "give the path of a TOML file"));
    CHORUS_ASSIGN_OR_RETURN(const Catalogue more, Catalogue::Parse(text, path));
    catalogue.Merge(more);
  }
  return catalogue;
}

Result<Machine> MachineOn(const std::string& on, const Catalogue& catalogue) {
  if (on.find_first_of("./") == std::string::npos) return MachineNamed(on, catalogue);
  CHORUS_ASSIGN_OR_RETURN(
      const std::string text,
      ReadFile(on, "machine", "give the path of a machine file, or a name such as h100-8"));
  return ParseMachine(text, on, catalogue);
}

Result<Machine> ChosenMachine(const MachineOptions& options) {
  CHORUS_ASSIGN_OR_RETURN(const Catalogue catalogue, ReadCatalogue(options.catalogues));
  if (options.on.empty()) {
    return InvalidArgument(
        "--on is missing; name a machine, as --on h100-8 (chorus hardware lists "
        "them)");
  }
  CHORUS_ASSIGN_OR_RETURN(Machine machine, About("--on", MachineOn(options.on, catalogue)));
  Topology::Definition d = machine.topology.definition();
  if (options.wrap) {
    if (d.fabric != Fabric::kTorus) {
      return InvalidArgument(fmt::format("--wrap: {} is a {}, not a torus; leave --wrap out",
                                         options.on, Name(d.fabric)));
    }
    for (const TorusAxis& axis : d.axes) {
      if (!axis.wraps && axis.size > 1)
        return InvalidArgument("--wrap: " + WhyNoWrap(machine.hardware, axis.size));
    }
  }
  if (options.bandwidth.empty() && options.latency.empty()) return machine;
  CHORUS_RETURN_IF_ERROR(CheckFabricLink(options, d));
  if (!options.bandwidth.empty()) {
    const Result<BytesPerSecond> read = ParseBandwidth(options.bandwidth);
    if (!read.ok()) return read.status().WithContext("--bandwidth");
    d.link.bandwidth = *read;
  }
  if (!options.latency.empty()) {
    const Result<Seconds> read = ParseSeconds(options.latency);
    if (!read.ok()) return read.status().WithContext("--latency");
    d.link.latency = *read;
  }
  CHORUS_ASSIGN_OR_RETURN(machine.topology,
                          About(LinkOption(options, "--on"), Topology::Make(std::move(d))));
  return machine;
}

Status CheckMachineIsNamed(const MachineOptions& options) {
  if (!options.on.empty()) return OkStatus();
  const std::pair<std::string_view, bool> given[] = {{"--bandwidth", !options.bandwidth.empty()},
                                                     {"--latency", !options.latency.empty()},
                                                     {"--wrap", options.wrap},
                                                     {"--catalogue", !options.catalogues.empty()}};
  for (const auto& [option, is_given] : given) {
    if (is_given) {
      return InvalidArgument(
          fmt::format("{} is about the machine of --on, and there is no --on", option));
    }
  }
  return OkStatus();
}

Result<std::int64_t> RanksOn(const Machine& machine, std::optional<std::int64_t> ranks) {
  const std::int64_t devices = machine.topology.device_count();
  if (!ranks) return devices;
  if (*ranks >= 1 && *ranks <= devices) return *ranks;
  return InvalidArgument(
      fmt::format("--ranks {} on {}; give 1 to {}", *ranks, machine.name, devices));
}

Status CheckRoot(std::int64_t root, std::int64_t ranks) {
  if (root >= 0 && root < ranks) return OkStatus();
  return InvalidArgument(fmt::format("--root {} is out of range; give 0 to {}", root, ranks - 1));
}

std::string_view LinkOption(const MachineOptions& options, std::string_view otherwise) {
  if (!options.latency.empty()) return "--latency";
  return options.bandwidth.empty() ? otherwise : "--bandwidth";
}

std::vector<std::int64_t> NearestSlice(const Topology& torus, std::int64_t ranks) {
  const std::vector<TorusAxis>& axes = torus.definition().axes;
  std::vector<std::int64_t> sizes, best;
  std::tuple<std::int64_t, std::int64_t, std::int64_t> least;  // off, fewer, the longest axis
  // All that fit into the torus: of up to 3 axes, none longer than a few thousand.
  const auto visit = [&](const auto& self, std::int64_t product) -> void {
    if (sizes.size() < axes.size()) {
      for (std::int64_t size = axes[sizes.size()].size; size >= 1; --size) {
        sizes.push_back(size);
        self(self, product * size);
        sizes.pop_back();
      }
      return;
    }
    const std::tuple now(std::abs(product - ranks), -product,
                         *std::max_element(sizes.begin(), sizes.end()));
    if (!best.empty() && now >= least) return;
    least = now;
    best = sizes;
  };
  visit(visit, 1);
  return best;
}

Result<std::vector<Bytes>> ParseByteRange(const std::string& text, std::size_t most) {
  std::vector<Bytes> sizes;
  if (const std::size_t dots = text.find(".."); dots != std::string::npos) {
    const std::string from = text.substr(0, dots), to = text.substr(dots + 2);
    if (to.starts_with('.')) {
      return InvalidArgument(
          fmt::format("'{}' has more than two dots; write {}..{}", text, from,
                      to.substr(std::min(to.find_first_not_of('.'), to.size()))));
    }
    if (to.find("..") != std::string::npos) {
      return InvalidArgument(fmt::format("'{}' has more than two dots; write {}..{}", text, from,
                                         to.substr(to.rfind("..") + 2)));
    }
    CHORUS_ASSIGN_OR_RETURN(const Bytes first, ParseBytes(from));
    CHORUS_ASSIGN_OR_RETURN(const Bytes last, ParseBytes(to));
    if (last.value() >= 1 && last < first) {
      return InvalidArgument(
          fmt::format("'{}' begins above its end; write {}..{}", text, to, from));
    }
    if (last < first) {
      return InvalidArgument(
          fmt::format("'{}' is no range of sizes; write for example 1KiB..1GiB", text));
    }
    if (first.value() < 1) {
      return InvalidArgument(fmt::format(
          "'{}' doubles from its first size, which is 0; begin at 1 B or more, or name sizes, as "
          "0,1KiB,2KiB",
          text));
    }
    for (Bytes size = first;; size = size * 2) {
      sizes.push_back(size);
      if (size.value() > last.value() / 2) break;
    }
    if (sizes.back() != last) sizes.push_back(last);
    return sizes;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    if (comma == begin && !text.empty()) {
      return InvalidArgument(fmt::format(
          "'{}' has no size before or behind a comma; write for example 1MB,2MB", text));
    }
    CHORUS_ASSIGN_OR_RETURN(const Bytes size, ParseBytes(text.substr(begin, comma - begin)));
    sizes.push_back(size);
    begin = comma + 1;
  }
  if (sizes.size() > most) {
    return InvalidArgument(
        fmt::format("{} sizes are too many; give at most {}", sizes.size(), most));
  }
  return sizes;
}

Bytes WholeBytes(double bytes) {
  if (!(bytes > 0)) return Bytes(0);
  return Bytes(bytes >= 0x1p63 ? std::numeric_limits<std::int64_t>::max()
                               : static_cast<std::int64_t>(std::round(bytes)));
}

std::string SizeText(Bytes bytes) {
  const std::int64_t n = bytes.value();
  for (int power = 4; power > 0; --power) {
    constexpr std::string_view kBinary[] = {"", "KiB", "MiB", "GiB", "TiB"};
    constexpr std::string_view kDecimal[] = {"", "KB", "MB", "GB", "TB"};
    const std::int64_t binary = std::int64_t{1} << (10 * power);
    std::int64_t decimal = 1;
    for (int i = 0; i < power; ++i) decimal *= 1000;
    if (n >= binary && n % binary == 0) return fmt::format("{} {}", n / binary, kBinary[power]);
    if (n >= decimal && n % decimal == 0) return fmt::format("{} {}", n / decimal, kDecimal[power]);
  }
  return n < 10'000 ? fmt::format("{} B", n) : ToString(bytes);
}

Status CheckAccumulatorRatio(double ratio) {
  if (ratio >= 1 && ratio <= 8) return OkStatus();
  return InvalidArgument(
      fmt::format("--accumulator-ratio {}; give 1 to 8, as 2 for bf16 summed in f32", ratio));
}

}  // namespace chorus::answer
