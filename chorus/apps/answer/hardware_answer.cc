#include "chorus/apps/answer/hardware_answer.h"
#include "chorus/apps/answer/about.h"

#include <string_view>
#include <utility>

namespace chorus::answer {

Json HardwareJson(const Hardware& h) {
  Json json = {{"name", h.name}, {"title", h.title}, {"fabric", Name(h.fabric)}};
  if (h.fabric == Fabric::kTorus) {
    json["torus_axes"] = h.torus_axes;
    json["whole_axis"] = h.whole_axis;
    json["wrap"] = Name(h.wrap);
  } else {
    json["node"] = h.node_size;
    json["reduces"] = h.switch_reduces;
  }
  constexpr std::string_view kUnits[] = {"", "bytes", "bytes_per_second_one_direction", "seconds",
                                         "flop_per_second"};
  for (const FigureKey& key : FigureKeys()) {
    const Figure* figure = h.Find(key.key);
    if (figure == nullptr) continue;
    Json& out = json["figures"][std::string(key.key)];
    out = {{"value", figure->value},
           {"unit", kUnits[static_cast<int>(key.unit)]},
           {"source", figure->source}};
    if (!figure->note.empty()) out["note"] = figure->note;
    for (const Figure::Other& other : figure->also) {
      out["also"].push_back({{"value", other.value}, {"source", other.source}});
    }
  }
  return json;
}

Result<HardwareAnswer> Answer(const HardwareQuestion& question) {
  HardwareAnswer answer;
  CHORUS_ASSIGN_OR_RETURN(answer.catalogue, ReadCatalogue(question.catalogues));
  if (question.name.empty()) return answer;
  // A bare name is looked up as it is, since a torus needs axes to be a machine.
  const Result<const Hardware*> bare = answer.catalogue.Find(question.name);
  if (bare.ok()) {
    answer.one = **bare;
    return answer;
  }
  CHORUS_ASSIGN_OR_RETURN(answer.machine,
                          About("--name", MachineOn(question.name, answer.catalogue)));
  return answer;
}

Json ToJson(const HardwareAnswer& answer) {
  if (answer.one) return HardwareJson(*answer.one);
  if (!answer.machine) {
    Json list = Json::array();
    for (const Hardware& h : answer.catalogue.all()) list.push_back(HardwareJson(h));
    return list;
  }
  const Machine& machine = *answer.machine;
  Json json = HardwareJson(machine.hardware);
  json["machine"] = machine.name;
  json["topology"] = machine.topology.ToString();
  json["devices"] = machine.topology.device_count();
  for (const FittedCurve& fit : machine.fits) {
    json["measured"].push_back({{"operation", fit.op},
                                {"ranks", fit.ranks},
                                {"nodes", fit.nodes},
                                {"root", fit.root < 0 ? Json() : Json(fit.root)},
                                {"least_bytes", fit.least_bytes},
                                {"most_bytes", fit.most_bytes},
                                {"error_fitted", fit.error_fitted}});
  }
  return json;
}

}  // namespace chorus::answer
