#include "chorus/apps/cli/hardware.h"

#include <fmt/format.h>

#include <memory>

#include "chorus/apps/answer/hardware_answer.h"
#include "chorus/base/counted.h"
#include "chorus/cost/calibrate/measurement.h"
#include "chorus/probe/speeds.h"
#include "chorus/probe/write_file.h"
#include "chorus/topology/hardware_text.h"

namespace chorus::cli {
namespace {

struct HardwareOptions {
  std::string name;
  std::vector<std::string> catalogues;
  bool probe = false;
  std::string out;
  bool json = false;
};

std::string FigureOr(const Hardware& hardware, std::string_view key, FigureUnit unit) {
  const Figure* figure = hardware.Find(key);
  return figure == nullptr ? "-" : FigureText(unit, figure->value);
}

std::string Joined(const Hardware& h) {
  if (h.fabric == Fabric::kTorus) return fmt::format("torus, {} axes", h.torus_axes);
  return fmt::format("{} of {}{}", Name(h.fabric), h.node_size,
                     h.switch_reduces ? ", reduces" : "");
}

void PrintList(const Catalogue& catalogue) {
  fmt::print("{:<8} {:<24} {:>13} {:>13} {:>9} {:>11}  {}\n", "name", "joined by", "link, 1 way",
             "latency", "memory", "bf16", "what it is");
  for (const Hardware& h : catalogue.all()) {
    fmt::print("{:<8} {:<24} {:>13} {:>13} {:>9} {:>11}  {}\n", h.name, Joined(h),
               FigureOr(h, "link_bandwidth", FigureUnit::kBandwidth),
               FigureOr(h, "link_latency", FigureUnit::kSeconds),
               FigureOr(h, "memory", FigureUnit::kBytes),
               FigureOr(h, "peak_bf16", FigureUnit::kFlopRate), h.title);
  }
  fmt::print(
      "\nAll bandwidths are per direction. chorus hardware NAME says where each figure comes "
      "from.\n");
}

void PrintTorus(const Hardware& h) {
  fmt::print("  torus of up to {} axes of up to {}; ", h.torus_axes, h.whole_axis);
  switch (h.wrap) {
    case WrapRule::kAlways:
      fmt::print("every axis wraps\n");
      break;
    case WrapRule::kNever:
      fmt::print("no axis wraps\n");
      break;
    case WrapRule::kWholeAxis:
      fmt::print("only an axis of {} wraps\n", h.whole_axis);
      break;
    case WrapRule::kCubes:
      fmt::print("axes wrap if all are multiples of 4 (whole 4x4x4 cubes)\n");
      break;
  }
}

void PrintFigures(const Hardware& h) {
  if (!h.figures.empty()) fmt::print("\n");
  for (const FigureKey& key : FigureKeys()) {
    const Figure* figure = h.Find(key.key);
    if (figure == nullptr) continue;
    fmt::print("  {:<17} {:>13}  {}{}{}\n", key.key, FigureText(key.unit, figure->value),
               figure->source, figure->note.empty() ? "" : "; ", figure->note);
    for (const Figure::Other& other : figure->also) {
      fmt::print("  {:<17} {:>13}  {}\n", "    or", FigureText(key.unit, other.value),
                 other.source);
    }
  }
}

void PrintHardware(const Hardware& h, const Machine* machine) {
  fmt::print("{}{}{}\n", h.name, h.title.empty() ? "" : ": ", h.title);
  if (!h.note.empty()) fmt::print("  {}\n", h.note);
  if (machine != nullptr) fmt::print("  {}\n", machine->topology.ToString());
  if (h.fabric == Fabric::kTorus) PrintTorus(h);
  PrintFigures(h);
}

// Of a file, which may be like known hardware, may differ from it, and may have been measured.
void PrintMachineFile(const Machine& machine) {
  const Hardware& h = machine.hardware;
  const bool known = !h.figures.empty();
  fmt::print(
      "{}: {}\n", machine.name,
      known ? fmt::format("as {}, {}; what differs stands in {}", h.name, h.title, machine.origin)
            : "described by " + machine.origin);
  fmt::print("  {}\n", machine.topology.ToString());
  for (const FittedCurve& fit : machine.fits) {
    fmt::print("  measured: {}, {} to {}, within {:.1f} %\n",
               QuestionText(fit.op, fit.ranks, fit.root), answer::SizeText(Bytes(fit.least_bytes)),
               answer::SizeText(Bytes(fit.most_bytes)), 100 * fit.error_fitted);
  }
  PrintFigures(h);
}

// This host as it was found just now. A figure says what was done, not on which host.
Result<Hardware> MeasuredHost(const Catalogue& catalogue) {
  CHORUS_ASSIGN_OR_RETURN(const Hardware* assumed, catalogue.Find("host"));
  CHORUS_ASSIGN_OR_RETURN(const HostSpeeds speeds, MeasureHostSpeeds());
  Hardware host = *assumed;
  host.title = fmt::format("processes on this host, {}, through shared memory",
                           Counted(speeds.cores, "usable core"));
  const auto set = [&](std::string_view key, double value, std::string_view how) {
    Figure figure;
    figure.value = value;
    figure.source = fmt::format("measured on this host: {}", how);
    if (const Figure* other = assumed->Find(key); other != nullptr) {
      figure.also.push_back({other->value, other->source});
    }
    host.figures.insert_or_assign(std::string(key), std::move(figure));
  };
  set("link_latency", speeds.one_way.value(), "a cache line from one core to another");
  set("link_bandwidth", speeds.hand_over.value(), "a core copies what another has just written");
  set("memory_bandwidth", speeds.read.value(), "one core reads 128 MiB");
  set("peak_f32", speeds.product.value(), "a product of 512 x 512 matrices on one core");
  return host;
}

Status RunProbe(const HardwareOptions& o, const Catalogue& catalogue) {
  if (!o.name.empty() && o.name != "host") {
    return InvalidArgument(fmt::format(
        "--probe measures this host, not {}; write chorus hardware host --probe", o.name));
  }
  CHORUS_ASSIGN_OR_RETURN(const Hardware host, MeasuredHost(catalogue));
  if (!o.out.empty()) CHORUS_RETURN_IF_ERROR(WriteFile(o.out, HardwareText(host), "--out"));
  if (o.json) {
    fmt::print("{}\n", answer::HardwareJson(host).dump(2));
    return OkStatus();
  }
  PrintHardware(host, nullptr);
  if (!o.out.empty()) {
    fmt::print(
        "\nwritten: {}; now chorus estimate all_reduce --bytes 1MiB --on host-2 --catalogue {}\n",
        o.out, o.out);
  }
  return OkStatus();
}

Status RunHardware(const HardwareOptions& o) {
  if (o.probe) {
    CHORUS_ASSIGN_OR_RETURN(const Catalogue catalogue, answer::ReadCatalogue(o.catalogues));
    return RunProbe(o, catalogue);
  }
  CHORUS_ASSIGN_OR_RETURN(const answer::HardwareAnswer a, answer::Answer({o.name, o.catalogues}));
  if (o.json) {
    fmt::print("{}\n", ToJson(a).dump(2));
  } else if (a.machine) {
    a.machine->origin.empty() ? PrintHardware(a.machine->hardware, &*a.machine)
                              : PrintMachineFile(*a.machine);
  } else if (a.one) {
    PrintHardware(*a.one, nullptr);
  } else {
    PrintList(a.catalogue);
  }
  return OkStatus();
}

}  // namespace

void AddHardware(CLI::App& app, Outcome& outcome) {
  auto o = std::make_shared<HardwareOptions>();
  CLI::App* hardware =
      app.add_subcommand("hardware", "Show what is known of accelerators and links, with sources");
  hardware->add_option("NAME", o->name,
                       "h100, v5e-8x4, ... or a machine file (default: a list of all)");
  hardware->add_option("--catalogue", o->catalogues, "More hardware, from this TOML file");
  CLI::Option* probe =
      hardware->add_flag("--probe", o->probe, "Measure this host, in about a second");
  hardware->add_option("--out", o->out, "Write what was measured into this catalogue file")
      ->needs(probe);
  hardware->add_flag("--json", o->json, "JSON instead of tables");
  hardware->footer(
      "Examples:\n"
      "  chorus hardware\n"
      "  chorus hardware b200\n"
      "  chorus hardware v5e-8x16\n"
      "  chorus hardware ./my-cluster.toml\n"
      "  chorus hardware host --probe --out ./host.toml");
  hardware->callback([o, &outcome] { outcome.status = RunHardware(*o); });
}

}  // namespace chorus::cli
