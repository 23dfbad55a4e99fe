#include "chorus/apps/answer/layout_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "chorus/apps/answer/about.h"
#include "chorus/apps/answer/machine_choice.h"
#include "chorus/base/scanner.h"
#include "chorus/mesh/draw.h"
#include "chorus/mesh/notation.h"
#include "chorus/mesh/spelling.h"

namespace chorus::answer {
namespace {

// The first axis of the spec that is not on the mesh; "" if there is none.
std::string MissingAxis(const Spec& spec, const Mesh& mesh) {
  std::vector<AxisNames> places;
  for (const SpecDim& dim : spec.dims()) places.push_back(dim.axes);
  places.push_back(spec.partial());
  for (const AxisNames& axes : places) {
    for (const std::string& axis : axes) {
      if (!mesh.HasAxis(axis)) return axis;
    }
  }
  return "";
}

// Spec::Check, with the place in the text.
Status CheckAxes(const LayoutQuestion& q, const Spec& spec, const Mesh& mesh) {
  Status check = spec.Check(mesh);
  if (check.ok()) return check;
  const std::size_t at = FindAxisIn(q.spec, MissingAxis(spec, mesh));
  return Scanner(q.spec).ErrorAt(at, check.message());
}

// Numbers devices whose blocks are the same alike.
void NumberBlocks(std::vector<LayoutDevice>& devices) {
  std::map<std::vector<std::pair<std::int64_t, std::int64_t>>, std::int64_t> seen;
  for (LayoutDevice& device : devices) {
    std::vector<std::pair<std::int64_t, std::int64_t>> key;
    for (const Block& block : device.blocks) key.emplace_back(block.begin, block.size);
    device.block = seen.emplace(std::move(key), std::ssize(seen)).first->second;
  }
}

// Each different group of the mesh over `axes`, once.
Json GroupsJson(const Mesh& mesh, const AxisNames& axes) {
  Json groups = Json::array();
  for (std::int64_t rank = 0; rank < mesh.size(); ++rank) {
    const std::vector<std::int64_t> group = mesh.Group(rank, axes);
    if (*std::min_element(group.begin(), group.end()) == rank) groups.push_back(group);
  }
  return groups;
}

Json DeviceJson(const LayoutAnswer& a, std::int64_t rank) {
  const LayoutDevice& device = a.devices[rank];
  Json json = {{"rank", rank}, {"coordinates", Json::object()}};
  const std::vector<std::int64_t> coordinates = a.mesh.Coordinates(rank);
  for (std::size_t i = 0; i < coordinates.size(); ++i) {
    json["coordinates"][a.mesh.axes()[i].name] = coordinates[i];
  }
  json["begin"] = Json::array();
  json["local_shape"] = Json::array();
  std::int64_t elements = 1;
  for (const Block& block : device.blocks) {
    json["begin"].push_back(block.begin);
    json["local_shape"].push_back(block.size);
    elements *= block.size;
  }
  json["elements"] = elements;
  json["bytes"] = device.bytes.value();
  json["block"] = device.block;
  json["replicas"] = a.mesh.Group(rank, a.repeated);
  json["addends"] = a.mesh.Group(rank, a.spec.partial());
  return json;
}

Json DimJson(const LayoutAnswer& a, std::size_t d) {
  const SpecDim& dim = a.spec.dims()[d];
  Json json = {{"dim", dim.name},
               {"size", a.sizes.find(dim.name)->second},
               {"axes", dim.axes},
               {"blocks", Json::array()}};
  for (const std::int64_t rank : a.mesh.Group(0, dim.axes)) {
    const Block& block = a.devices[rank].blocks[d];
    json["blocks"].push_back({{"begin", block.begin}, {"size", block.size}});
  }
  return json;
}

}  // namespace

Result<LayoutAnswer> Answer(const LayoutQuestion& question) {
  LayoutAnswer answer;
  CHORUS_ASSIGN_OR_RETURN(answer.mesh, About("--mesh", Mesh::Parse(question.mesh)));
  if (answer.mesh.size() > kMostLayoutDevices) {
    return InvalidArgument(fmt::format("--mesh {} has {} devices; at most {} are shown",
                                       question.mesh, answer.mesh.size(), kMostLayoutDevices));
  }
  CHORUS_ASSIGN_OR_RETURN(answer.spec, About("--spec", Spec::Parse(question.spec)));
  CHORUS_RETURN_IF_ERROR(About("--spec", CheckAxes(question, answer.spec, answer.mesh)));
  CHORUS_ASSIGN_OR_RETURN(answer.sizes, About("--dims", ParseDimSizes(question.dims)));
  CHORUS_RETURN_IF_ERROR(About("--dims", CheckSizes(answer.spec, answer.sizes)));
  const std::optional<DType> dtype = ParseDType(question.dtype);
  if (!dtype) {
    return InvalidArgument(
        fmt::format("--dtype {} is no element type; write f32, bf16, i8 or so", question.dtype));
  }
  answer.dtype = *dtype;
  for (const MeshAxis& axis : answer.mesh.axes()) {
    if (!answer.spec.Uses(axis.name)) answer.repeated.push_back(axis.name);
  }
  for (std::int64_t rank = 0; rank < answer.mesh.size(); ++rank) {
    LayoutDevice device;
    std::int64_t elements = 1;
    for (const SpecDim& dim : answer.spec.dims()) {
      const std::int64_t size = answer.sizes.find(dim.name)->second;
      device.blocks.push_back(BlockOf(dim.axes, answer.mesh, size, rank));
      elements *= device.blocks.back().size;
    }
    device.bytes = Bytes(elements * SizeOf(answer.dtype));
    answer.devices.push_back(std::move(device));
  }
  NumberBlocks(answer.devices);
  if (answer.mesh.size() <= kMostRanksDrawn) {
    CHORUS_ASSIGN_OR_RETURN(answer.drawing, DrawSpec(answer.spec, answer.mesh, answer.sizes));
  }
  return answer;
}

std::vector<std::string> SpellingsFor(const LayoutQuestion& question) {
  const Result<Spec> spec = Spec::Parse(question.spec);
  if (!spec.ok()) return SpellingsOf(question.spec);
  const Result<Mesh> mesh = Mesh::Parse(question.mesh);
  if (!mesh.ok() || spec->Check(*mesh).ok()) return {};
  return {NearestOn(*spec, *mesh).ToString()};
}

Json ToJson(const LayoutAnswer& a) {
  const double whole = static_cast<double>(GlobalShape(a.spec, a.sizes).elements()) *
                       static_cast<double>(SizeOf(a.dtype));
  Json json = {{"spec", a.spec.ToString()},
               {"mesh", a.mesh.ToString()},
               {"dtype", Name(a.dtype)},
               {"axes", Json::array()},
               {"dims", Json::array()},
               {"global_shape", GlobalShape(a.spec, a.sizes).sizes()},
               {"global_bytes", GlobalShape(a.spec, a.sizes).elements() * SizeOf(a.dtype)},
               {"partial", a.spec.partial()},
               {"repeated", a.repeated},
               {"devices", Json::array()}};
  for (const MeshAxis& axis : a.mesh.axes()) {
    json["axes"].push_back({{"axis", axis.name}, {"size", axis.size}});
  }
  for (std::size_t d = 0; d < a.spec.dims().size(); ++d) json["dims"].push_back(DimJson(a, d));
  double total = 0;
  std::int64_t most = 0, least = a.devices[0].bytes.value();
  for (std::int64_t rank = 0; rank < a.mesh.size(); ++rank) {
    json["devices"].push_back(DeviceJson(a, rank));
    const std::int64_t bytes = a.devices[rank].bytes.value();
    most = std::max(most, bytes);
    least = std::min(least, bytes);
    total += static_cast<double>(bytes);
  }
  json["most_bytes"] = most;
  json["least_bytes"] = least;
  json["total_bytes"] = WholeBytes(total).value();
  json["replica_groups"] = GroupsJson(a.mesh, a.repeated);
  json["sum_groups"] = GroupsJson(a.mesh, a.spec.partial());
  json["copies"] = whole > 0 ? Json(total / whole) : Json();
  json["drawing"] = a.drawing;
  return json;
}

}  // namespace chorus::answer
