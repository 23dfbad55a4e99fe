// The table of endpoints: fields in, an answer of chorus/apps/answer out.
#include <fmt/format.h>

#include "chorus/apps/answer/about.h"
#include "chorus/apps/answer/catalogue_answer.h"
#include "chorus/apps/answer/estimate_answer.h"
#include "chorus/apps/answer/explain_answer.h"
#include "chorus/apps/answer/hardware_answer.h"
#include "chorus/apps/answer/layout_answer.h"
#include "chorus/apps/answer/measured_answer.h"
#include "chorus/apps/answer/primitive_answer.h"
#include "chorus/apps/answer/schedule_answer.h"
#include "chorus/apps/answer/simulate_answer.h"
#include "chorus/apps/studio/server/endpoint.h"
#include "chorus/apps/studio/server/run_rows.h"
#include "chorus/apps/studio/server/runs.h"

namespace chorus::studio {
namespace {

using answer::MachineOptions;

constexpr std::size_t kMostSizesAsked = 64;
constexpr const char* kBytesDoc = "one size, a range of powers of two or a list; at most 64 sizes";
constexpr std::int64_t kMostRanksSimulated = 1024;
constexpr std::int64_t kMostHeldSimulated = 500'000;  // a second, and some MB of critical path
// The ways of a product grow fast with these; so many take a second or two.
constexpr std::int64_t kMostRanksExplained = 32;
constexpr std::int64_t kMostAxisExplained = 16;
constexpr std::size_t kMostAxesExplained = 3;
constexpr std::size_t kMostOperandsExplained = 3;

Field Text(std::string name, std::string doc, std::string example, bool required = false) {
  Field field{std::move(name), FieldType::kText, std::move(doc), required};
  field.examples = {std::move(example)};
  return field;
}

Field Whole(std::string name, std::string doc, double least, double most,
            Json otherwise = nullptr) {
  return {std::move(name),     FieldType::kWhole, std::move(doc), false, least, most,
          std::move(otherwise)};
}

Field Number(std::string name, std::string doc, double least, double most,
             Json otherwise = nullptr) {
  return {std::move(name),     FieldType::kNumber, std::move(doc), false, least, most,
          std::move(otherwise)};
}

Field Flag(std::string name, std::string doc) {
  return {std::move(name), FieldType::kFlag, std::move(doc), false, 0, 0, false};
}

Field Op() { return Text("op", "the operation", "all_reduce", true); }
Field Algorithm() { return Text("algorithm", "its algorithm; the usual one if not given", "ring"); }
Field Ratio() {
  return Number("accumulator_ratio", "bytes of a partial sum / of an element", 1, 8, 1);
}

// The fields of MachineOptions, and their values.
void AddMachineFields(std::vector<Field>& fields, bool required) {
  fields.push_back(Text("on", "a machine by its name", "h100-8", required));
  fields.push_back(
      Text("bandwidth", "of a link, per direction, instead of the catalogue's", "370GB/s"));
  fields.push_back(Text("latency", "of a link, instead of the catalogue's", "1us"));
  fields.push_back(Flag("wrap", "every axis of the torus must wrap"));
}

Result<MachineOptions> MachineOf(const Fields& f) {
  MachineOptions machine;
  f.Get("on", machine.on);
  f.Get("bandwidth", machine.bandwidth);
  f.Get("latency", machine.latency);
  f.Get("wrap", machine.wrap);
  // The command line takes a file there; a page must not read this machine's files.
  if (machine.on.find_first_of("./") != std::string::npos) {
    return InvalidArgument(fmt::format(
        "--on '{}' is no name of a machine; write one like h100-8 or v5e-4x4", machine.on));
  }
  return machine;
}

// Which fields go with which questions: the table of the command line.
Status CheckRules(const std::vector<answer::OptionRule>& rules, const Fields& f,
                  const std::string& op) {
  const auto given = [&f](std::string option) {
    option.erase(0, 2);
    for (char& c : option) c = c == '-' ? '_' : c;
    if (!f.Has(option)) return false;
    const Json& value = *f.values().find(option);
    return !(value.is_boolean() && !value.get<bool>());  // a flag that is not set
  };
  return answer::CheckGiven(rules, given, op);
}

Status CheckSizes(const std::string& bytes) {
  if (bytes.empty()) return OkStatus();
  return answer::About("--bytes", answer::ParseByteRange(bytes, kMostSizesAsked)).status();
}

Endpoint EstimateEndpoint() {
  std::vector<Field> fields = {Op()};
  AddMachineFields(fields, true);
  for (Field& field : std::vector<Field>{
           Text("bytes", kBytesDoc, "1KiB..1GiB"),
           Whole("ranks", "fewer than all devices", 1, 1 << 30),
           Whole("root", "of operations that have one", 0, 1 << 30, 0), Algorithm(),
           Text("model", "latency model: sum, max, nccl", "sum"), Ratio(),
           Flag("compare", "all algorithms, fastest first"),
           Text("measured", "a time to set beside it", "1.6ms"),
           Text("dims", "sizes of product, layer, training", "B=4096,D=8192,F=28672"),
           Number("element", "bytes of an element of dims", 0.5, 8, 2)}) {
    fields.push_back(std::move(field));
  }
  return {"estimate", "What a collective, product, layer or training step costs, by formula",
          std::move(fields), [](const Fields& f) -> Result<Json> {
            answer::EstimateQuestion q;
            f.Get("op", q.op);
            CHORUS_ASSIGN_OR_RETURN(q.machine, MachineOf(f));
            f.Get("bytes", q.bytes);
            f.Get("ranks", q.ranks);
            f.Get("root", q.root);
            f.Get("algorithm", q.algorithm);
            f.Get("model", q.model);
            f.Get("accumulator_ratio", q.accumulator_ratio);
            f.Get("compare", q.compare);
            f.Get("measured", q.measured);
            f.Get("dims", q.dims);
            f.Get("element", q.element);
            CHORUS_RETURN_IF_ERROR(answer::CheckEstimateOperation(q.op));
            CHORUS_RETURN_IF_ERROR(CheckRules(answer::EstimateRules(), f, q.op));
            CHORUS_RETURN_IF_ERROR(CheckSizes(q.bytes));
            CHORUS_ASSIGN_OR_RETURN(const answer::EstimateAnswer a, Answer(q));
            return ToJson(a);
          }};
}

Endpoint SimulateEndpoint() {
  std::vector<Field> fields = {Op()};
  AddMachineFields(fields, true);
  for (Field& field : std::vector<Field>{
           Text("bytes", kBytesDoc, "1MiB"),
           Whole("ranks", "fewer than all devices", 1, kMostRanksSimulated),
           Whole("root", "of operations that have one", 0, kMostRanksSimulated, 0), Algorithm(),
           Ratio(), Text("tile", "blocks go in pieces of this size", "1MiB"),
           Field{"slow", FieldType::kTexts, "DEVICE:FACTOR", false, 0, 0, nullptr, {"3:2"}},
           Number("jitter", "latencies vary by exp(jitter x normal)", 0, 10, 0),
           Text("seed", "of the jitter", "1"), Text("local", "rate of reduce and copy", "1TB/s"),
           Flag("compare", "all algorithms, fastest first")}) {
    fields.push_back(std::move(field));
  }
  return {"simulate", "A schedule carried out on a machine, event by event", std::move(fields),
          [](const Fields& f) -> Result<Json> {
            answer::SimulateQuestion q;
            f.Get("op", q.op);
            CHORUS_ASSIGN_OR_RETURN(q.machine, MachineOf(f));
            f.Get("bytes", q.bytes);
            f.Get("ranks", q.ranks);
            f.Get("root", q.root);
            f.Get("algorithm", q.algorithm);
            f.Get("accumulator_ratio", q.accumulator_ratio);
            f.Get("tile", q.tile);
            f.Get("slow", q.slow);
            f.Get("jitter", q.jitter);
            f.Get("seed", q.seed);
            f.Get("local", q.local);
            f.Get("compare", q.compare);
            q.most_ranks = kMostRanksSimulated;
            q.most_held = kMostHeldSimulated;
            q.most_seconds = 5;
            CHORUS_RETURN_IF_ERROR(CheckRules(answer::SimulateRules(), f, q.op));
            CHORUS_RETURN_IF_ERROR(CheckSizes(q.bytes));
            CHORUS_ASSIGN_OR_RETURN(const answer::SimulateAnswer a, Answer(q));
            return ToJson(a);
          }};
}

Endpoint ScheduleEndpoint() {
  const auto most = static_cast<double>(answer::kMostScheduleRanks);
  return {"schedule",
          "A schedule step by step, and what every rank holds after each step",
          {Op(), Algorithm(), Whole("ranks", "N", 1, most, 4),
           Whole("root", "of operations that have one", 0, most - 1, 0),
           Text("bytes", "as nccl-tests counts it", "1MiB"), Ratio(),
           Flag("relabel", "rename chunks, so that rank i ends with the other one")},
          [](const Fields& f) -> Result<Json> {
            answer::ScheduleQuestion q;
            f.Get("op", q.op);
            f.Get("algorithm", q.algorithm);
            f.Get("ranks", q.ranks);
            f.Get("root", q.root);
            f.Get("bytes", q.bytes);
            f.Get("accumulator_ratio", q.accumulator_ratio);
            f.Get("relabel", q.relabel);
            CHORUS_ASSIGN_OR_RETURN(const answer::ScheduleAnswer a, Answer(q));
            return ToJson(a);
          }};
}

Endpoint PrimitiveEndpoint() {
  const auto most = static_cast<double>(answer::kMostPrimitiveRanks);
  return {"primitive",
          "What an operation does, before and after, from its definition",
          {Op(), Whole("ranks", "N", 1, most, 4),
           Whole("root", "of operations that have one", 0, most - 1, 0),
           Field{"counts", FieldType::kWholes, "elements of each block, of a v-variant"}},
          [](const Fields& f) -> Result<Json> {
            answer::PrimitiveQuestion q;
            f.Get("op", q.op);
            f.Get("ranks", q.ranks);
            f.Get("root", q.root);
            f.Get("counts", q.counts);
            CHORUS_ASSIGN_OR_RETURN(const answer::PrimitiveAnswer a, Answer(q));
            return ToJson(a);
          }};
}

answer::LayoutQuestion LayoutOf(const Fields& f) {
  answer::LayoutQuestion q;
  f.Get("mesh", q.mesh);
  f.Get("spec", q.spec);
  f.Get("dims", q.dims);
  f.Get("dtype", q.dtype);
  return q;
}

Endpoint LayoutEndpoint() {
  return {"layout",
          "Which device of a mesh holds which block of an array",
          {Text("mesh", "axes and their sizes", "X=2,Y=2", true),
           Text("spec", "how the array lies", "A[I_X, J]{U_Y}", true),
           Text("dims", "sizes of the dimensions", "I=1024,J=7", true),
           Text("dtype", "element type, f32 if not given", "f32")},
          [](const Fields& f) -> Result<Json> {
            CHORUS_ASSIGN_OR_RETURN(const answer::LayoutAnswer a, Answer(LayoutOf(f)));
            return ToJson(a);
          },
          [](const Fields& f) { return SpellingsFor(LayoutOf(f)); }};
}

// Errors: more than a page is answered; the command line has more patience.
Status CheckExplained(const std::string& product, const std::string& mesh) {
  const Result<Product> read = ParseProduct(product);
  if (read.ok() && read->operands.size() > kMostOperandsExplained) {
    return InvalidArgument(fmt::format(
        "--product has {} operands; at most {} are explained here, up to 6 by chorus explain",
        read->operands.size(), kMostOperandsExplained));
  }
  const Result<Mesh> axes = Mesh::Parse(mesh);
  if (axes.ok() && axes->axes().size() > kMostAxesExplained) {
    return InvalidArgument(
        fmt::format("--mesh has {} axes; at most {} are explained here, more by chorus explain",
                    axes->axes().size(), kMostAxesExplained));
  }
  for (const MeshAxis& axis : axes.ok() ? axes->axes() : std::vector<MeshAxis>()) {
    if (axis.size <= kMostAxisExplained) continue;
    return InvalidArgument(
        fmt::format("--mesh has {} ranks along {}; at most {} are explained here, more by chorus "
                    "explain",
                    axis.size, axis.name, kMostAxisExplained));
  }
  if (axes.ok() && axes->size() > kMostRanksExplained) {
    return InvalidArgument(
        fmt::format("--mesh has {} ranks; at most {} are explained here, more by chorus explain",
                    axes->size(), kMostRanksExplained));
  }
  return OkStatus();
}

// The place of an illegal spec in a product is told; what it may mean is told for one spec alone.
Endpoint ProductEndpoint() {
  std::vector<Field> fields = {
      Text("product", "a product, or a chain of up to 3 operands",
           "A[I, J_X] * B[J_X, K] -> C[I, K]", true),
      Text("mesh", "up to 3 axes of up to 16 ranks, 32 ranks in all", "X=4", true),
      Text("dims", "sizes of the dimensions", "I=1024,J=1024,K=1024", true),
      Text("dtype", "f32, f64, f16 or bf16", "bf16"),
      Text("memory", "most memory of a rank", "16GiB"),
      Flag("overlap", "multiply chunks while others are on their way"),
      Number("flops_per_byte", "FLOP a rank does while it sends a byte", 1e-6, 1e12)};
  AddMachineFields(fields, false);
  return {"product", "What a sharded product costs, the collectives it takes, and the other ways",
          std::move(fields), [](const Fields& f) -> Result<Json> {
            answer::ExplainQuestion q;
            f.Get("product", q.product);
            f.Get("mesh", q.mesh);
            f.Get("dims", q.dims);
            f.Get("dtype", q.dtype);
            f.Get("memory", q.memory);
            f.Get("flops_per_byte", q.flops_per_byte);
            f.Get("overlap", q.overlap);
            CHORUS_ASSIGN_OR_RETURN(q.machine, MachineOf(f));
            q.alternatives = true;
            CHORUS_RETURN_IF_ERROR(CheckExplained(q.product, q.mesh));
            CHORUS_ASSIGN_OR_RETURN(const answer::ExplainAnswer a, Answer(q));
            return ToJson(a);
          }};
}

Endpoint HardwareEndpoint() {
  return {"hardware",
          "Figures of accelerators and links, each with its source",
          {Text("name", "hardware or a machine; all if not given", "h100")},
          [](const Fields& f) -> Result<Json> {
            answer::HardwareQuestion q;
            f.Get("name", q.name);
            if (q.name.find_first_of("./") != std::string::npos) {
              return InvalidArgument(
                  fmt::format("--name '{}' is no name; write one like h100 or h100-8", q.name));
            }
            CHORUS_ASSIGN_OR_RETURN(const answer::HardwareAnswer a, Answer(q));
            Json json = ToJson(a);
            if (json.is_array()) return Json{{"hardware", std::move(json)}};
            return json;
          }};
}

Endpoint MeasuredEndpoint() {
  return {"measured",
          "What others have measured, with sources",
          {Text("op", "an operation; all if not given", "all_reduce"),
           Text("on", "a machine by its name; all if not given", "h100-8")},
          [](const Fields& f) -> Result<Json> {
            answer::MeasuredQuestion q;
            f.Get("op", q.op);
            f.Get("on", q.on);
            CHORUS_ASSIGN_OR_RETURN(const answer::MeasuredAnswer a, Answer(q));
            return ToJson(a);
          }};
}

Endpoint RunsEndpoint(const std::string& folder) {
  return {"runs", "The files of the folder of runs", {}, [folder](const Fields&) {
            return ListRuns(folder);
          }};
}

Endpoint RunEndpoint(const std::string& folder) {
  return {"run",
          "The rows of one file of the folder of runs",
          {Text("file",
                fmt::format("a name that runs gave, of at most {} MiB; {} rows and {} points of a "
                            "curve are given",
                            kMostFileBytes >> 20, kMostRows, kMostPoints),
                "bench.json", true)},
          [folder](const Fields& f) {
            std::string file;
            f.Get("file", file);
            return ReadRun(folder, file);
          }};
}

Endpoint CatalogueEndpoint(const std::string& version) {
  return {"catalogue",
          "What can be asked for: operations, algorithms, hardware, models, element types",
          {},
          [version](const Fields&) -> Result<Json> {
            static const Json catalogue = answer::CatalogueJson(version);
            return catalogue;
          }};
}

Endpoint TakesLong(Endpoint endpoint) {
  endpoint.takes_long = true;
  return endpoint;
}

Endpoint Changes(Endpoint endpoint) {
  endpoint.changes = true;
  return endpoint;
}

}  // namespace

std::vector<Endpoint> AllEndpoints(const EndpointOptions& options) {
  return {CatalogueEndpoint(options.version),
          ScheduleEndpoint(),
          PrimitiveEndpoint(),
          LayoutEndpoint(),
          TakesLong(EstimateEndpoint()),
          TakesLong(SimulateEndpoint()),
          TakesLong(ProductEndpoint()),
          HardwareEndpoint(),
          MeasuredEndpoint(),
          Changes(RunsEndpoint(options.runs)),
          Changes(TakesLong(RunEndpoint(options.runs)))};
}

}  // namespace chorus::studio
