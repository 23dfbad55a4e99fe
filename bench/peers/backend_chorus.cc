// Chorus as a side.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "bench/peers/backend.h"
#include "bench/peers/control.h"
#include "chorus/collective/group.h"

namespace peers {
namespace {

chorus::DType ToChorus(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return chorus::DType::kF32;
    case DType::kBF16:
      return chorus::DType::kBF16;
    case DType::kF16:
      return chorus::DType::kF16;
  }
  return chorus::DType::kF32;
}

class ChorusBackend final : public Backend {
 public:
  explicit ChorusBackend(chorus::Group group) : group_(std::move(group)) {}

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }

  std::byte* AllocateSymmetric(std::int64_t bytes) override {
    auto memory = group_.Allocate<std::byte>(bytes);
    if (!memory.ok()) {
      Tell(memory.status());
      return nullptr;
    }
    symmetric_ = *std::move(memory);
    return symmetric_.data();
  }

  // The setting "algorithm=NAME" forces an algorithm.
  std::string Prepare(const Block& block) override {
    options_.algorithm = block.setting.rfind("algorithm=", 0) == 0 ? block.setting.substr(10) : "";
    op_ = block.op;
    counts_ = CountsOf(block, rank(), size());
    dtype_ = ToChorus(block.dtype);
    return "";
  }

  bool Call(const void* in, void* out) override { return Tell(Run(in, out)); }

  void Barrier() override { Tell(group_.Barrier()); }

 private:
  static bool Tell(const chorus::Status& status) {
    if (status.ok()) return true;
    std::fprintf(stderr, "chorus: %s\n", std::string(status.message()).c_str());
    return false;
  }

  chorus::Status Run(const void* in, void* out) {
    const chorus::ConstBuffer from(in, counts_.in, dtype_);
    const chorus::MutableBuffer to(out, counts_.out, dtype_);
    constexpr chorus::ReduceOp kSum = chorus::ReduceOp::kSum;
    switch (op_) {
      case Op::kAllReduce:
        return group_.AllReduce(from, to, kSum, options_);
      case Op::kAllGather:
        return group_.AllGather(from, to, options_);
      case Op::kReduceScatter:
        return group_.ReduceScatter(from, to, kSum, options_);
      case Op::kAllToAll:
        return group_.AllToAll(from, to, options_);
      case Op::kBroadcast: {
        // The root's buffer is only read.
        const bool root = group_.rank() == 0;
        return group_.Broadcast(
            {root ? const_cast<void*>(in) : out, root ? counts_.in : counts_.out, dtype_}, 0,
            options_);
      }
      case Op::kReduce:
        return group_.Reduce(from, to, kSum, 0, options_);
      case Op::kGather:
        return group_.Gather(from, to, 0, options_);
      case Op::kScatter:
        return group_.Scatter(from, to, 0, options_);
      case Op::kBarrier:
        return group_.Barrier(options_);
    }
    return {};
  }

  chorus::Group group_;
  chorus::SymmetricArray<std::byte> symmetric_;
  chorus::CallOptions options_;
  Op op_ = Op::kAllReduce;
  Counts counts_;
  chorus::DType dtype_ = chorus::DType::kF32;
};

}  // namespace

std::unique_ptr<Backend> MakeBackend(int* /*argc*/, char*** /*argv*/, const Place& place) {
  PinToCore(place.rank);
  chorus::JoinOptions options;  // MASTER_PORT is in the environment
  options.rank = place.rank;
  options.size = place.size;
  auto group = chorus::Join(options);
  if (!group.ok()) {
    std::fprintf(stderr, "chorus: %s\n", std::string(group.status().message()).c_str());
    std::exit(1);
  }
  return std::make_unique<ChorusBackend>(std::move(*group));
}

}  // namespace peers
