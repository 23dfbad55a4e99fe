// A planned product of Chorus on arrays that lie on a mesh of one axis; or, as a bound, one product
// by each rank alone with no word between them.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/matmul/side.h"
#include "bench/peers/control.h"
#include "chorus/collective/group.h"
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

// FLOP that a core does while it hands a byte to another one, on a host of today.
constexpr double kFlopsPerByte = 15;

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
    CHORUS_ASSIGN_OR_RETURN(
        const chorus::ProductAnswer answer,
        ExplainProduct(product, runtime_->mesh(), sizes, dtype_, chorus::Tariff{kFlopsPerByte, 0}));
    CHORUS_RETURN_IF_ERROR(Fill(product.operands[0], sizes, block.k, NumberA));
    CHORUS_RETURN_IF_ERROR(Fill(product.operands[1], sizes, block.n, NumberB));
    CHORUS_ASSIGN_OR_RETURN(program_, chorus::Executable::Load(*runtime_, answer.program, sizes));
    return chorus::OkStatus();
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
  chorus::Result<chorus::Group> group = chorus::Join();
  if (!group.ok()) Fail(group.status());
  auto runtime =
      chorus::Runtime::Create(*std::move(group), *chorus::Mesh::Create({{"X", size}}), {});
  if (!runtime.ok()) Fail(runtime.status());
  return std::make_unique<ChorusSide>(*std::move(runtime));
}

}  // namespace matmul
