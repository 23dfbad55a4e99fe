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

  std::byte* AllocateSymmetric(std::int64_t bytes) override { return Allocate(group_, bytes); }

  // The setting "algorithm=NAME" forces an algorithm.
  std::string Prepare(const Block& block) override {
    options_.algorithm = block.setting.rfind("algorithm=", 0) == 0 ? block.setting.substr(10) : "";
    op_ = block.op;
    counts_ = CountsOf(block, rank(), size());
    dtype_ = ToChorus(block.dtype);
    return Run(group_, nullptr, nullptr, /*only_ask=*/true).first ? "" : "no such operation yet";
  }

  bool Call(const void* in, void* out) override {
    return Tell(Run(group_, in, out, /*only_ask=*/false).second);
  }

  void Barrier() override { Tell(group_.Barrier()); }

 private:
  static bool Tell(const chorus::Status& status) {
    if (status.ok()) return true;
    std::fprintf(stderr, "chorus: %s\n", std::string(status.message()).c_str());
    return false;
  }

  // Whether there is such an operation, and the outcome of the call. A template, so that operations
  // which this version of Group does not have are left out.
  template <typename G>
  std::pair<bool, chorus::Status> Run(G& group, const void* in, void* out, bool only_ask) const {
    using chorus::ConstBuffer;
    using chorus::MutableBuffer;
    const ConstBuffer from(in, counts_.in, dtype_);
    const MutableBuffer to(out, counts_.out, dtype_);
    constexpr chorus::ReduceOp kSum = chorus::ReduceOp::kSum;
    switch (op_) {
      case Op::kAllReduce:
        if (only_ask) return {true, {}};
        return {true, group.AllReduce(from, to, kSum, options_)};
      case Op::kAllGather:
        if (only_ask) return {true, {}};
        return {true, group.AllGather(from, to, options_)};
      case Op::kReduceScatter:
        if (only_ask) return {true, {}};
        return {true, group.ReduceScatter(from, to, kSum, options_)};
      case Op::kBroadcast: {
        if (only_ask) return {true, {}};
        const bool root = group.rank() == 0;
        const MutableBuffer both(root ? const_cast<void*>(in) : out,
                                 root ? counts_.in : counts_.out, dtype_);
        return {true, group.Broadcast(both, 0, options_)};
      }
      case Op::kReduce:
        if (only_ask) return {true, {}};
        return {true, group.Reduce(from, to, kSum, 0, options_)};
      case Op::kBarrier:
        if (only_ask) return {true, {}};
        return {true, group.Barrier(options_)};
      case Op::kAllToAll:
        if constexpr (requires { group.AllToAll(from, to, options_); }) {
          if (only_ask) return {true, {}};
          return {true, group.AllToAll(from, to, options_)};
        }
        break;
      case Op::kGather:
        if constexpr (requires { group.Gather(from, to, 0, options_); }) {
          if (only_ask) return {true, {}};
          return {true, group.Gather(from, to, 0, options_)};
        }
        break;
      case Op::kScatter:
        if constexpr (requires { group.Scatter(from, to, 0, options_); }) {
          if (only_ask) return {true, {}};
          return {true, group.Scatter(from, to, 0, options_)};
        }
        break;
    }
    return {false, {}};
  }

  template <typename G>
  static std::byte* Allocate(G& group, std::int64_t bytes) {
    if constexpr (requires { group.template Allocate<std::byte>(bytes)->data(); }) {
      auto memory = group.template Allocate<std::byte>(bytes);
      if (!memory.ok()) {
        std::fprintf(stderr, "chorus: %s\n", std::string(memory.status().message()).c_str());
        return nullptr;
      }
      // Kept to the end of the process.
      auto* kept = new auto(std::move(*memory));
      return reinterpret_cast<std::byte*>(kept->data());
    }
    return nullptr;
  }

  chorus::Group group_;
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
