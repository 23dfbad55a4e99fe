// A planned product of Chorus on arrays that lie on a mesh of one axis; or, as a bound, one product
// by each rank alone with no word between them.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "bench/matmul/side.h"
#include "bench/peers/control.h"
#include "chorus/collective/group.h"
#include "chorus/collective/paced_join.h"
#include "chorus/kernel/matmul.h"
#include "chorus/shard/product.h"
#include "chorus/tensor/executable.h"
#include "chorus/tensor/runtime.h"
#include "chorus/tensor/sharded_array.h"

namespace matmul {
namespace {

using chorus::ArrayStore;
using chorus::DType;
using chorus::ShardedArray;
using chorus::Status;

class ChorusSide : public Side {
 public:
  explicit ChorusSide(std::unique_ptr<chorus::Runtime> runtime) : runtime_(std::move(runtime)) {}

  int rank() const override { return runtime_->rank(); }
  int size() const override { return runtime_->world().size(); }
  void Barrier() override { static_cast<void>(runtime_->world().Barrier()); }

  std::string Prepare(const Block& block) override {
    const Status status = Make(block);
    return status.ok() ? "" : status.message();
  }

  std::string Multiply() override {
    if (!program_) {
      Matmul(chorus::KernelSet::kFast, dtype_, alone_, store_.at("A").raw(), store_.at("B").raw(),
             store_.at("C").raw(), /*accumulate=*/false, executed_);
      return "";
    }
    const Status status = program_->Run(store_, chorus::AdamWSettings());
    return status.ok() ? "" : status.message();
  }

  std::string Check() override {
    if (!program_ || dtype_ == DType::kBF16) return "";  // rounded; its tests are elsewhere
    if (block_.way == "move" || store_.count("C") == 0) return "";  // no product, or half a sum
    const ShardedArray& c = store_.at("C");
    const auto block = [&](std::size_t d) {
      return BlockOf(c.spec().dims()[d].axes, runtime_->mesh(), d == 0 ? block_.m : block_.n,
                     rank());
    };
    const chorus::Block rows = block(0), columns = block(1);
    for (std::int64_t s = 0; s < 40 && c.elements() > 0; ++s) {
      const std::int64_t i = s * 7919 % rows.size, k = s * 104729 % columns.size;
      const double got = c.ElementAt(i * columns.size + k);
      if (got == NumberC(block_, rows.begin + i, columns.begin + k)) continue;
      return "C[" + std::to_string(rows.begin + i) + ", " + std::to_string(columns.begin + k) +
             "] is " + std::to_string(got);
    }
    return "";
  }

 private:
  Status Make(const Block& block) {
    block_ = block;
    dtype_ = block.dtype == "bf16" ? DType::kBF16 : DType::kF32;
    store_.clear();
    program_.reset();
    if (block.product == "independent") return MakeAlone();
    const chorus::DimSizes sizes = {{"I", block.m}, {"J", block.k}, {"K", block.n}};
    CHORUS_ASSIGN_OR_RETURN(const chorus::Product product, chorus::ParseProduct(block.product));
    chorus::WayLimits limits;
    limits.overlap = block.way == "overlap";
    CHORUS_ASSIGN_OR_RETURN(
        const chorus::ProductAnswer answer,
        ExplainProduct(product, runtime_->mesh(), sizes, dtype_,
                       chorus::Tariff{block.flops_per_byte, block.latency_bytes}, limits));
    CHORUS_RETURN_IF_ERROR(Fill(product.operands[0], sizes, block.k, NumberA));
    CHORUS_RETURN_IF_ERROR(Fill(product.operands[1], sizes, block.n, NumberB));
    chorus::StepProgram program = answer.program;
    if (block.way == "move") {
      CHORUS_ASSIGN_OR_RETURN(program, OnlyMoves(program, sizes));
    }
    if (block.way == "compute") {
      CHORUS_ASSIGN_OR_RETURN(program, OnlyComputes(program, sizes));
    }
    CHORUS_ASSIGN_OR_RETURN(program_,
                            chorus::Executable::Load(*runtime_, std::move(program), sizes));
    return chorus::OkStatus();
  }

  // The collective of a plan of one product and one collective, of an array that lies as it must.
  chorus::Result<chorus::StepProgram> OnlyMoves(const chorus::StepProgram& program,
                                                const chorus::DimSizes& sizes) {
    const auto move =
        std::find_if(program.ops().begin(), program.ops().end(),
                     [](const chorus::ProgramOp& op) { return IsCollective(op.kind); });
    if (move == program.ops().end()) {
      return chorus::InvalidArgument("the plan has no collective:\n" + program.ToString());
    }
    chorus::ProgramValue value = program.value(move->operands[0]);
    value.storage = chorus::StorageClass::kInput;
    CHORUS_ASSIGN_OR_RETURN(ShardedArray array,
                            ShardedArray::Create(*runtime_, value.spec, value.dtype, sizes));
    std::memset(array.raw(), 0, static_cast<std::size_t>(array.elements() * SizeOf(value.dtype)));
    store_.insert_or_assign(value.name(), std::move(array));
    chorus::ProgramOp op = *move;
    op.operands = {0};
    op.result = 1;
    return chorus::StepProgram::Create({std::move(value), program.value(move->result)}, {op}, {1});
  }
  // Its product, of operands that lie as it needs them.
  chorus::Result<chorus::StepProgram> OnlyComputes(const chorus::StepProgram& program,
                                                   const chorus::DimSizes& sizes) {
    const auto product = std::find_if(
        program.ops().begin(), program.ops().end(),
        [](const chorus::ProgramOp& op) { return op.kind == chorus::ProgramOpKind::kCompute; });
    std::vector<chorus::ProgramValue> values;
    for (const chorus::ValueId id : product->operands) {
      chorus::ProgramValue value = program.value(id);
      const bool is_first = values.empty();
      value.spec = value.spec.WithName(is_first ? "A" : "B");
      value.storage = chorus::StorageClass::kInput;
      CHORUS_RETURN_IF_ERROR(
          Fill(value.spec, sizes, is_first ? block_.k : block_.n, is_first ? NumberA : NumberB));
      values.push_back(std::move(value));
    }
    values.push_back(program.value(product->result));
    chorus::ProgramOp op = *product;
    op.operands = {0, 1};
    op.result = 2;
    return chorus::StepProgram::Create(std::move(values), {op}, {2});
  }

  // Half of the work of the whole product for each rank: half the rows, or of a long contraction
  // half of that.
  Status MakeAlone() {
    const bool along_k = block_.k > block_.m;
    const chorus::DimSizes sizes = {{"I", along_k ? block_.m : block_.m / size()},
                                    {"J", along_k ? block_.k / size() : block_.k},
                                    {"K", block_.n}};
    alone_ = {sizes.at("I"), sizes.at("K"), sizes.at("J")};
    CHORUS_RETURN_IF_ERROR(Fill(*chorus::Spec::Parse("A[I, J]"), sizes, alone_.k, NumberA));
    CHORUS_RETURN_IF_ERROR(Fill(*chorus::Spec::Parse("B[J, K]"), sizes, alone_.n, NumberB));
    return Fill(*chorus::Spec::Parse("C[I, K]"), sizes, alone_.n, NumberB);
  }

  template <typename Number>
  Status Fill(const chorus::Spec& spec, const chorus::DimSizes& sizes, std::int64_t columns,
              Number number) {
    CHORUS_ASSIGN_OR_RETURN(
        ShardedArray array,
        ShardedArray::Generate(*runtime_, spec, dtype_, sizes, [&](std::int64_t at) {
          return number(at / columns, at % columns);
        }));
    store_.insert_or_assign(spec.name(), std::move(array));
    return chorus::OkStatus();
  }

  std::unique_ptr<chorus::Runtime> runtime_;
  Block block_;
  DType dtype_ = DType::kF32;
  ArrayStore store_;
  std::optional<chorus::Executable> program_;  // empty: each rank alone
  chorus::MatmulShape alone_;
  chorus::Flops executed_;
};

[[noreturn]] void Fail(const Status& status) {
  std::fprintf(stderr, "chorus: %s\n", status.message().c_str());
  std::exit(1);
}

}  // namespace

std::unique_ptr<Side> MakeSide(int* /*argc*/, char*** /*argv*/, int rank, int size) {
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(size).c_str(), 1);
  peers::PinToCore(rank);
  chorus::SetMatmulThreads(1);
  chorus::JoinOptions options;
  // "BYTES_PER_SECOND LATENCY_NS": as if such links were between the ranks.
  if (const char* const pace = std::getenv("MATMUL_PACE"); pace != nullptr) {
    std::istringstream words(pace);
    chorus::LinkPace link;
    std::int64_t latency = 0;
    words >> link.bytes_per_second >> latency;
    link.latency = std::chrono::nanoseconds(latency);
    options = chorus::PacedJoin(options, link);
  }
  chorus::Result<chorus::Group> group = chorus::Join(options);
  if (!group.ok()) Fail(group.status());
  auto runtime =
      chorus::Runtime::Create(*std::move(group), *chorus::Mesh::Create({{"X", size}}), {});
  if (!runtime.ok()) Fail(runtime.status());
  return std::make_unique<ChorusSide>(*std::move(runtime));
}

}  // namespace matmul
