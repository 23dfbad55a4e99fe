// The table of endpoints: fields in, an answer of chorus/apps/answer out.
#include <fmt/format.h>

#include <functional>

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

// A field, and the member of a question that it sets: named once, so that none is left out.
template <typename Question>
struct Bound {
  Field field;
  std::function<void(const Fields&, Question&)> read;
};

// `member`: &Question::bytes, or what gives a reference for a question.
template <typename Question, typename Member>
Bound<Question> Bind(Field field, Member member) {
  std::string name = field.name;
  return {std::move(field), [name = std::move(name), member](const Fields& f, Question& q) {
            f.Get(name, std::invoke(member, q));
          }};
}

template <typename Question>
Question QuestionOf(const std::vector<Bound<Question>>& bound, const Fields& f) {
  Question question;
  for (const Bound<Question>& one : bound) one.read(f, question);
  return question;
}

// An endpoint whose answer is that of a question.
template <typename Question>
Endpoint EndpointOf(std::string name, std::string doc, std::vector<Bound<Question>> bound,
                    std::function<Result<Json>(const Fields&, Question)> answer) {
  std::vector<Field> fields;
  for (const Bound<Question>& one : bound) fields.push_back(one.field);
  return {std::move(name), std::move(doc), std::move(fields),
          [bound = std::move(bound), answer = std::move(answer)](const Fields& f) {
            return answer(f, QuestionOf(bound, f));
          }};
}

template <typename Question>
void AddMachine(std::vector<Bound<Question>>& bound, bool required) {
  bound.push_back(Bind<Question>(
      Text("on", "a machine by its name", "h100-8", required),
      [](Question & q) -> auto& { return q.machine.on; }));
  bound.push_back(Bind<Question>(
      Text("bandwidth", "of a link, per direction, instead of the catalogue's", "370GB/s"),
      [](Question & q) -> auto& { return q.machine.bandwidth; }));
  bound.push_back(Bind<Question>(
      Text("latency", "of a link, instead of the catalogue's", "1us"),
      [](Question & q) -> auto& { return q.machine.latency; }));
  bound.push_back(Bind<Question>(
      Flag("wrap", "every axis of the torus must wrap"),
      [](Question & q) -> auto& { return q.machine.wrap; }));
}

// The command line takes a file for a name; a page must not read this machine's files.
Status CheckName(std::string_view option, const std::string& name) {
  if (name.find_first_of("./") == std::string::npos) return OkStatus();
  return InvalidArgument(fmt::format(
      "{} '{}' is no name of a machine; write one like h100-8 or v5e-4x4", option, name));
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
  using Q = answer::EstimateQuestion;
  std::vector<Bound<Q>> fields = {
      Bind<Q>(Op(), &Q::op),
      Bind<Q>(Text("bytes", kBytesDoc, "1KiB..1GiB"), &Q::bytes),
      Bind<Q>(Whole("ranks", "fewer than all devices", 1, 1 << 30), &Q::ranks),
      Bind<Q>(Whole("root", "of operations that have one", 0, 1 << 30, 0), &Q::root),
      Bind<Q>(Algorithm(), &Q::algorithm),
      Bind<Q>(Text("model", "latency model: sum, max, nccl", "sum"), &Q::model),
      Bind<Q>(Ratio(), &Q::accumulator_ratio),
      Bind<Q>(Flag("compare", "all algorithms, fastest first"), &Q::compare),
      Bind<Q>(Text("measured", "a time to set beside it", "1.6ms"), &Q::measured),
      Bind<Q>(Text("dims", "sizes of product, layer, training", "B=4096,D=8192,F=28672"), &Q::dims),
      Bind<Q>(Number("element", "bytes of an element of dims", 0.5, 8, 2), &Q::element)};
  AddMachine(fields, true);
  return EndpointOf<Q>("estimate",
                       "What a collective, product, layer or training step costs, by formula",
                       std::move(fields), [](const Fields& f, const Q& q) -> Result<Json> {
                         CHORUS_RETURN_IF_ERROR(CheckName("--on", q.machine.on));
                         CHORUS_RETURN_IF_ERROR(answer::CheckEstimateOperation(q.op));
                         CHORUS_RETURN_IF_ERROR(CheckRules(answer::EstimateRules(), f, q.op));
                         CHORUS_RETURN_IF_ERROR(CheckSizes(q.bytes));
                         CHORUS_ASSIGN_OR_RETURN(const answer::EstimateAnswer a, Answer(q));
                         return ToJson(a);
                       });
}

Endpoint SimulateEndpoint() {
  using Q = answer::SimulateQuestion;
  std::vector<Bound<Q>> fields = {
      Bind<Q>(Op(), &Q::op),
      Bind<Q>(Text("bytes", kBytesDoc, "1MiB"), &Q::bytes),
      Bind<Q>(Whole("ranks", "fewer than all devices", 1, kMostRanksSimulated), &Q::ranks),
      Bind<Q>(Whole("root", "of operations that have one", 0, kMostRanksSimulated, 0), &Q::root),
      Bind<Q>(Algorithm(), &Q::algorithm),
      Bind<Q>(Ratio(), &Q::accumulator_ratio),
      Bind<Q>(Text("tile", "blocks go in pieces of this size", "1MiB"), &Q::tile),
      Bind<Q>(Field{"slow", FieldType::kTexts, "DEVICE:FACTOR", false, 0, 0, nullptr, {"3:2"}},
              &Q::slow),
      Bind<Q>(Number("jitter", "latencies vary by exp(jitter x normal)", 0, 10, 0), &Q::jitter),
      Bind<Q>(Text("seed", "of the jitter", "1"), &Q::seed),
      Bind<Q>(Text("local", "rate of reduce and copy", "1TB/s"), &Q::local),
      Bind<Q>(Flag("compare", "all algorithms, fastest first"), &Q::compare)};
  AddMachine(fields, true);
  return EndpointOf<Q>("simulate", "A schedule carried out on a machine, event by event",
                       std::move(fields), [](const Fields& f, Q q) -> Result<Json> {
                         q.most_ranks = kMostRanksSimulated;
                         q.most_held = kMostHeldSimulated;
                         q.most_seconds = 5;
                         CHORUS_RETURN_IF_ERROR(CheckName("--on", q.machine.on));
                         CHORUS_RETURN_IF_ERROR(CheckRules(answer::SimulateRules(), f, q.op));
                         CHORUS_RETURN_IF_ERROR(CheckSizes(q.bytes));
                         CHORUS_ASSIGN_OR_RETURN(const answer::SimulateAnswer a, Answer(q));
                         return ToJson(a);
                       });
}

// What needs no more than its question to be answered.
template <typename Answer, typename Question>
Result<Json> Answered(const Question& question) {
  CHORUS_ASSIGN_OR_RETURN(const Answer answered, answer::Answer(question));
  return ToJson(answered);
}

Endpoint ScheduleEndpoint() {
  using Q = answer::ScheduleQuestion;
  const auto most = static_cast<double>(answer::kMostScheduleRanks);
  return EndpointOf<Q>(
      "schedule", "A schedule step by step, and what every rank holds after each step",
      {Bind<Q>(Op(), &Q::op), Bind<Q>(Algorithm(), &Q::algorithm),
       Bind<Q>(Whole("ranks", "N", 1, most, 4), &Q::ranks),
       Bind<Q>(Whole("root", "of operations that have one", 0, most - 1, 0), &Q::root),
       Bind<Q>(Text("bytes", "as nccl-tests counts it", "1MiB"), &Q::bytes),
       Bind<Q>(Ratio(), &Q::accumulator_ratio),
       Bind<Q>(Flag("relabel", "rename chunks, so that rank i ends with the other one"),
               &Q::relabel)},
      [](const Fields&, const Q& q) { return Answered<answer::ScheduleAnswer>(q); });
}

Endpoint PrimitiveEndpoint() {
  using Q = answer::PrimitiveQuestion;
  const auto most = static_cast<double>(answer::kMostPrimitiveRanks);
  return EndpointOf<Q>(
      "primitive", "What an operation does, before and after, from its definition",
      {Bind<Q>(Op(), &Q::op), Bind<Q>(Whole("ranks", "N", 1, most, 4), &Q::ranks),
       Bind<Q>(Whole("root", "of operations that have one", 0, most - 1, 0), &Q::root),
       Bind<Q>(Field{"counts", FieldType::kWholes, "elements of each block, of a v-variant"},
               &Q::counts)},
      [](const Fields&, const Q& q) { return Answered<answer::PrimitiveAnswer>(q); });
}

Endpoint LayoutEndpoint() {
  using Q = answer::LayoutQuestion;
  const std::vector<Bound<Q>> fields = {
      Bind<Q>(Text("mesh", "axes and their sizes", "X=2,Y=2", true), &Q::mesh),
      Bind<Q>(Text("spec", "how the array lies", "A[I_X, J]{U_Y}", true), &Q::spec),
      Bind<Q>(Text("dims", "sizes of the dimensions", "I=1024,J=7", true), &Q::dims),
      Bind<Q>(Text("dtype", "element type, f32 if not given", "f32"), &Q::dtype)};
  Endpoint endpoint =
      EndpointOf<Q>("layout", "Which device of a mesh holds which block of an array", fields,
                    [](const Fields&, const Q& q) { return Answered<answer::LayoutAnswer>(q); });
  endpoint.spellings = [fields](const Fields& f) { return SpellingsFor(QuestionOf(fields, f)); };
  return endpoint;
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

Endpoint ProductEndpoint() {
  using Q = answer::ExplainQuestion;
  std::vector<Bound<Q>> fields = {
      Bind<Q>(Text("product", "a product, or a chain of up to 3 operands",
                   "A[I, J_X] * B[J_X, K] -> C[I, K]", true),
              &Q::product),
      Bind<Q>(Text("mesh", "up to 3 axes of up to 16 ranks, 32 ranks in all", "X=4", true),
              &Q::mesh),
      Bind<Q>(Text("dims", "sizes of the dimensions", "I=1024,J=1024,K=1024", true), &Q::dims),
      Bind<Q>(Text("dtype", "f32, f64, f16 or bf16", "bf16"), &Q::dtype),
      Bind<Q>(Text("memory", "most memory of a rank", "16GiB"), &Q::memory),
      Bind<Q>(Flag("overlap", "multiply chunks while others are on their way"), &Q::overlap),
      Bind<Q>(Number("flops_per_byte", "FLOP a rank does while it sends a byte", 1e-6, 1e12),
              &Q::flops_per_byte),
      Bind<Q>(Flag("gradients", "the gradient of each operand, too"), &Q::gradients)};
  AddMachine(fields, false);
  Endpoint endpoint = EndpointOf<Q>(
      "product", "What a sharded product costs, the collectives it takes, and the other ways",
      fields, [](const Fields&, Q q) -> Result<Json> {
        q.alternatives = true;
        CHORUS_RETURN_IF_ERROR(CheckName("--on", q.machine.on));
        CHORUS_RETURN_IF_ERROR(CheckExplained(q.product, q.mesh));
        return Answered<answer::ExplainAnswer>(q);
      });
  endpoint.spellings = [fields](const Fields& f) { return SpellingsFor(QuestionOf(fields, f)); };
  return endpoint;
}

Endpoint HardwareEndpoint() {
  using Q = answer::HardwareQuestion;
  return EndpointOf<Q>(
      "hardware", "Figures of accelerators and links, each with its source",
      {Bind<Q>(Text("name", "hardware or a machine; all if not given", "h100"), &Q::name)},
      [](const Fields&, const Q& q) -> Result<Json> {
        CHORUS_RETURN_IF_ERROR(CheckName("--name", q.name));
        CHORUS_ASSIGN_OR_RETURN(Json json, Answered<answer::HardwareAnswer>(q));
        if (json.is_array()) return Json{{"hardware", std::move(json)}};
        return json;
      });
}

Endpoint MeasuredEndpoint() {
  using Q = answer::MeasuredQuestion;
  return EndpointOf<Q>(
      "measured", "What others have measured, with sources",
      {Bind<Q>(Text("op", "an operation; all if not given", "all_reduce"), &Q::op),
       Bind<Q>(Text("on", "a machine by its name; all if not given", "h100-8"), &Q::on)},
      [](const Fields&, const Q& q) { return Answered<answer::MeasuredAnswer>(q); });
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
