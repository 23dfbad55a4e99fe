#include "chorus/apps/answer/compute_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>

#include "chorus/apps/answer/about.h"
#include "chorus/apps/answer/dims.h"
#include "chorus/apps/answer/machine_choice.h"
#include "chorus/base/counted.h"
#include "chorus/base/rate.h"
#include "chorus/cost/compute/roofline.h"
#include "chorus/cost/compute/traffic.h"
#include "chorus/cost/formula/wiring.h"

namespace chorus::answer {
namespace {

Json WorkJson(const Workload& w, const Roof& roof) {
  return {{"name", w.name},
          {"flop", w.flops},
          {"bytes", w.bytes},
          {"flop_per_byte", w.Intensity()},
          {"seconds", w.Seconds(roof)},
          {"bound", w.Intensity() < roof.Ridge() ? "memory" : "compute"}};
}

std::string WorkText(const std::vector<Workload>& works, const Roof& roof) {
  std::string text;
  text += fmt::format("{:<12} {:>12} {:>12} {:>10} {:>10}  bound by\n", "", "FLOP", "bytes",
                      "FLOP/B", "time");
  double total = 0;
  for (const Workload& w : works) {
    total += w.Seconds(roof);
    text += fmt::format("{:<12} {:>12.4g} {:>12.4g} {:>10.4g} {:>10}  {}\n", w.name, w.flops,
                        w.bytes, w.Intensity(), ToString(Seconds(w.Seconds(roof))),
                        w.Intensity() < roof.Ridge() ? "memory" : "compute");
  }
  if (works.size() > 1)
    text += fmt::format("{:<12} {:>12} {:>12} {:>10} {:>10}\n", "all", "", "", "",
                        ToString(Seconds(total)));
  text += fmt::format("ridge C / H = {} / {} = {:.0f} FLOP/B\n", ToString(roof.peak),
                      ToString(roof.memory), roof.Ridge());
  return text;
}

// The bandwidth that formulas of split products use.
Result<BytesPerSecond> NetworkBandwidth(const Machine& machine, double x) {
  const auto ranks = static_cast<std::int64_t>(x);
  const std::optional<Wiring> slice = SliceOf(machine, ranks);
  if (slice) return slice->GatherBandwidth();
  return InvalidArgument(fmt::format("--dims has X={}, which is no slice of {}; the nearest has {}",
                                     ranks, machine.name,
                                     fmt::join(NearestSlice(machine.topology, ranks), "x")));
}

Result<ComputeAnswer> EstimateProduct(const ComputeQuestion& q, const Machine& machine,
                                      const Roof& roof) {
  CHORUS_ASSIGN_OR_RETURN(Dims dims, Dims::Read(q.dims, {"B", "D", "F"}, {"X"}));
  const std::int64_t devices = machine.topology.device_count();
  dims.AtMost("X", devices, fmt::format("{} has {}", machine.name, Counted(devices, "device")))
      .AtMost("X", "D", "that is what X splits");
  CHORUS_RETURN_IF_ERROR(dims.Laws());
  const double b = dims("B"), d = dims("D"), f = dims("F");
  const double x = dims("X", static_cast<double>(devices));
  const Workload work = ProductWork(b, d, f, q.element);
  CHORUS_ASSIGN_OR_RETURN(const BytesPerSecond w, NetworkBandwidth(machine, x));
  const SplitProduct gather = GatherWeight(b, d, f, q.element, roof.peak, w);
  const SplitProduct reduce = ReduceOutput(b, d, f, x, q.element, roof.peak, w);
  const double batch = LeastBatchToGather(roof.peak, w);
  const double ranks = MostRanksToReduce(d, roof.peak, w);
  const auto split = [](const SplitProduct& s) {
    return Json{{"compute_seconds", s.compute},
                {"communication_seconds", s.communication},
                {"overlapped_seconds", s.Overlapped()},
                {"exposed_seconds", Exposed(s.communication, s.compute, 1)}};
  };
  Json json{{"whole", WorkJson(work, roof)},
            {"ridge_flop_per_byte", roof.Ridge()},
            {"network_bytes_per_second", w.value()},
            {"compute_over_network_flop_per_byte", batch},
            {"split_over", x},
            {"gather_weight", split(gather)},
            {"reduce_output", split(reduce)},
            {"least_tokens_to_gather", batch},
            {"most_ranks_to_reduce", ranks}};
  std::string text = WorkText({work}, roof);
  text += fmt::format("\nsplit over D on X = {:g}, C/W = {} / {} = {:.0f} FLOP/B\n", x,
                      ToString(roof.peak), ToString(w), batch);
  const auto line = [&text](std::string_view name, const SplitProduct& s, const std::string& when) {
    text += fmt::format("  {:<18} compute {}, communication {}: {} overlapped, {} exposed; {}\n",
                        name, ToString(Seconds(s.compute)), ToString(Seconds(s.communication)),
                        ToString(Seconds(s.Overlapped())),
                        ToString(Seconds(Exposed(s.communication, s.compute, 1))), when);
  };
  line("gather the weight", gather, fmt::format("bound by computing if B > C/W = {:.0f}", batch));
  line("reduce the output", reduce,
       fmt::format("bound by computing if X < D / (2 C/W) = {:.3g}", ranks));
  text += fmt::format(
      "  FSDP is bound by computing above {:.0f} tokens a device, tensor parallel below {:.3g} "
      "ranks (F W / C)\n",
      LeastTokensForFsdp(roof.peak, w, 1), MostRanksForTensor(f, roof.peak, w, 1));
  return ComputeAnswer{std::move(json), std::move(text)};
}

Result<ComputeAnswer> EstimateLayer(const ComputeQuestion& q, const Roof& roof) {
  CHORUS_ASSIGN_OR_RETURN(Dims dims,
                          Dims::Read(q.dims, {"B", "S", "D", "F"}, {"H", "K", "C", "G"}));
  dims.Needs("K", {"H"})
      .AtMost("K", "H", "heads share keys, so there are no more of them")
      .Divides("K", "H")
      .AtMost("H", "D", "that is what heads split")
      .Divides("H", "D")
      .AtMost("S", "C", "what is worked on is part of the context")
      .AtMost("G", 1, "it says only that there is a gate");
  CHORUS_RETURN_IF_ERROR(dims.Laws());
  LayerShape shape;
  shape.batch = dims("B");
  shape.sequence = dims("S");
  shape.width = dims("D");
  shape.inner = dims("F");
  shape.heads = dims("H", 1);
  shape.key_heads = dims("K", shape.heads);
  shape.context = dims("C");
  shape.gated = dims.Has("G");
  shape.element = q.element;
  const std::vector<Workload> works = LayerWork(shape);
  const double linear = shape.context > 0 && shape.sequence == 1
                            ? DecodeLinearIntensity(shape.batch, q.element)
                            : PrefillLinearIntensity(shape.batch, shape.sequence, q.element);
  Json json = {{"ridge_flop_per_byte", roof.Ridge()},
               {"linear_flop_per_byte_of_weights", linear},
               {"prefill_scores_flop_per_byte", PrefillScoreIntensity(shape.sequence, q.element)},
               {"decode_attention_flop_per_byte",
                DecodeAttentionIntensity(shape.heads / shape.key_heads, q.element)},
               {"work", Json::array()}};
  for (const Workload& w : works) json["work"].push_back(WorkJson(w, roof));
  std::string text = WorkText(works, roof);
  text += fmt::format("linear, weights alone: 2 x {:g} tokens / {:g} B = {:.4g} FLOP/B\n",
                      shape.batch * shape.sequence, q.element, linear);
  if (shape.context > 0) {
    text += fmt::format(
        "attention over a cache: 2 x {:g} / {:g} B = {:.4g} FLOP/B, whatever the batch\n",
        shape.heads / shape.key_heads, q.element,
        DecodeAttentionIntensity(shape.heads / shape.key_heads, q.element));
  } else {
    text += fmt::format("scores alone: 2 S / (3 x {:g} B) = {:.4g} FLOP/B\n", q.element,
                        PrefillScoreIntensity(shape.sequence, q.element));
  }
  return ComputeAnswer{std::move(json), std::move(text)};
}

Json TrafficJson(const StepTraffic& t, double n) {
  return {{"all_reduces", t.all_reduces},
          {"all_gathers", t.all_gathers},
          {"reduce_scatters", t.reduce_scatters},
          {"array_bytes", t.reduced_bytes + t.gathered_bytes},
          {"bytes_sent_per_rank", t.WireBytes(n)}};
}

Result<ComputeAnswer> EstimateTraining(const ComputeQuestion& q, const Machine& machine) {
  CHORUS_ASSIGN_OR_RETURN(Dims dims, Dims::Read(q.dims, {"P"}, {"L", "B", "S", "D", "E", "M"}));
  const std::int64_t devices = machine.topology.device_count();
  for (const char* name : {"B", "S", "D", "E", "M"}) dims.Needs(name, {"B", "S", "D"});
  dims.AtMost("L", "P", "a layer has parameters")
      .AtMost("E", devices,
              fmt::format("{} has {}, and experts of a token are on different ones", machine.name,
                          Counted(devices, "device")));
  CHORUS_RETURN_IF_ERROR(dims.Laws());
  const auto n = static_cast<double>(devices);
  const double bytes = dims("P") * q.element;
  const auto layers = static_cast<std::int64_t>(dims("L", 1));
  const double memory = machine.hardware.ValueOr("memory", 0);
  Json json = {{"parameter_bytes", bytes}, {"ranks", n}};
  std::vector<std::pair<std::string, StepTraffic>> rows;
  for (int stage = 0; stage <= 3; ++stage) {
    rows.emplace_back(stage == 0 ? "data parallel" : fmt::format("ZeRO-{}", stage),
                      ZeroStep(stage, bytes, layers));
  }
  const double activation = dims("B") * dims("S") * dims("D") * q.element;
  if (activation > 0) {
    rows.emplace_back("tensor, forward", TensorStep(activation, layers, false));
    rows.emplace_back("tensor, both", TensorStep(activation, layers, true));
    rows.emplace_back("sequence, both", SequenceStep(activation, layers, true));
  }
  for (const auto& [name, traffic] : rows) json["step"][name] = TrafficJson(traffic, n);
  const double pipeline = PipelineForwardBytes(activation, static_cast<std::int64_t>(n));
  const double experts =
      ExpertDispatchBytes(dims("B") * dims("S"), dims("E"), n, dims("D"), q.element);
  json["pipeline_forward_bytes"] = pipeline;
  json["expert_dispatch_bytes_per_rank"] = experts;
  std::string text = fmt::format("parameters: {} in {:g} B each", DecimalBytes(bytes), q.element);
  if (memory > 0) {
    text += fmt::format("; a device has {}: {:.0f} {} at least", DecimalBytes(memory),
                        std::ceil(bytes / memory), bytes <= memory ? "device" : "devices");
  }
  text += fmt::format("\n{:<16} {:>7} {:>7} {:>7} {:>14} {:>20}\n",
                      "step on " + Counted(devices, "rank"), "reduce", "gather", "scatter",
                      "arrays", "sent by each rank");
  for (const auto& [name, t] : rows) {
    text +=
        fmt::format("{:<16} {:>7} {:>7} {:>7} {:>14} {:>20}\n", name, t.all_reduces, t.all_gathers,
                    t.reduce_scatters, DecimalBytes(t.reduced_bytes + t.gathered_bytes),
                    DecimalBytes(t.WireBytes(n)));
  }
  if (activation > 0) {
    text += fmt::format("pipeline of {:g} stages, forward: {:g} transfers, {}\n", n, n - 1,
                        DecimalBytes(pipeline));
    if (dims.Has("M")) {
      text +=
          fmt::format("1F1B: at most {} microbatches in flight\n",
                      InFlight(static_cast<std::int64_t>(n), static_cast<std::int64_t>(dims("M"))));
    }
    if (dims.Has("E"))
      text += fmt::format("all_to_all to {:g} experts each: {} a rank\n", dims("E"),
                          DecimalBytes(experts));
  }
  return ComputeAnswer{std::move(json), std::move(text)};
}

// With the default figure, and with those that other sources have.
Result<ComputeAnswer> EstimateRead(const ComputeQuestion& q, const Hardware& hardware) {
  CHORUS_ASSIGN_OR_RETURN(const double rate, About("--on", hardware.Value("memory_bandwidth")));
  const auto line = [&](double figure) {
    const BytesPerSecond memory(figure);
    return fmt::format("{} / {} = {}", ToString(q.bytes), ToString(memory),
                       ToString(q.bytes / memory));
  };
  Json json = {{"bytes", q.bytes.value()},
               {"seconds", (q.bytes / BytesPerSecond(rate)).value()},
               {"also", Json::array()}};
  std::string text = line(rate) + "\n";
  for (const Figure::Other& other : hardware.Find("memory_bandwidth")->also) {
    json["also"].push_back({{"bytes_per_second", other.value},
                            {"seconds", (q.bytes / BytesPerSecond(other.value)).value()},
                            {"source", other.source}});
    text += fmt::format("{}, by {}\n", line(other.value), other.source);
  }
  return ComputeAnswer{std::move(json), std::move(text)};
}

}  // namespace

bool IsComputeQuestion(const std::string& what) {
  return what == "product" || what == "layer" || what == "training" || what == "read";
}

Result<ComputeAnswer> EstimateCompute(const ComputeQuestion& q, const Machine& machine) {
  if (!(q.element >= 0.5 && q.element <= 8)) {
    return InvalidArgument(
        fmt::format("--element {}; give the bytes of an element, 0.5 to 8", q.element));
  }
  if (q.what == "training") return EstimateTraining(q, machine);
  if (q.what == "read") return EstimateRead(q, machine.hardware);
  CHORUS_ASSIGN_OR_RETURN(const Roof roof, About("--on", RoofOf(machine.hardware)));
  if (q.what == "product") return EstimateProduct(q, machine, roof);
  return EstimateLayer(q, roof);
}

}  // namespace chorus::answer
