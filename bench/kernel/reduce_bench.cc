// How many elements a second one core reduces and copies, by dtype, sources, destinations and size.
//
//   cmake --preset release -DCHORUS_BUILD_KERNEL_BENCH=ON && cmake --build --preset release
//   build/release/bench/kernel/kernel_bench --benchmark_filter='f32|bf16'
//
// Reported: items = elements of the result, bytes = all that is read and written. The buffers of an
// iteration follow those of the one before, through `kFootprint` of memory, so that sizes beyond
// the caches are measured from memory and small ones are not flattered by one hot buffer.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "chorus/kernel/reduce.h"

namespace chorus {
namespace {

constexpr std::int64_t kFootprint = std::int64_t{512} << 20;

struct Free {
  void operator()(void* p) const { std::free(p); }
};

// One block of memory, touched, on a 2 MiB boundary.
std::byte* Memory() {
  static const std::unique_ptr<std::byte, Free> memory = [] {
    std::unique_ptr<std::byte, Free> p(static_cast<std::byte*>(
        std::aligned_alloc(std::size_t{2} << 20, static_cast<std::size_t>(kFootprint))));
    std::memset(p.get(), 0, static_cast<std::size_t>(kFootprint));
    return p;
  }();
  return memory.get();
}

struct Case {
  DType dtype;
  ReduceOp op;
  int sources;
  int dsts;
  bool streaming;
  bool warm;  // the same buffers again and again

  std::string Name() const {
    return std::string(chorus::Name(dtype)) + "/" + std::string(chorus::Name(op)) +
           "/sources:" + std::to_string(sources) + "/dsts:" + std::to_string(dsts) +
           (streaming ? "/streaming" : "") + (warm ? "/warm" : "");
  }
};

void BM_Reduce(benchmark::State& state, const Case& c) {
  const std::int64_t bytes = state.range(0);
  const std::int64_t count = bytes / SizeOf(c.dtype);
  // A line and a page apart, so that buffers of a power of two do not fight over cache sets.
  const std::int64_t stride = (bytes + 4095) / 4096 * 4096 + 4096 + 64;
  const std::int64_t all = stride * (c.sources + c.dsts);
  const std::int64_t places = c.warm ? 1 : std::max<std::int64_t>(kFootprint / all, 1);
  std::vector<ReduceSource> sources(static_cast<std::size_t>(c.sources));
  std::vector<void*> dsts(static_cast<std::size_t>(c.dsts));
  std::int64_t place = 0;
  for (auto _ : state) {
    std::byte* p = Memory() + place * all;
    place = place + 1 == places ? 0 : place + 1;
    for (ReduceSource& source : sources) {
      source = {p, c.dtype, true};
      p += stride;
    }
    for (void*& dst : dsts) {
      dst = p;
      p += stride;
    }
    ReduceArgs args{c.op, sources, dsts, c.dtype, count};
    args.streamed = c.streaming ? dsts.size() : 0;
    Reduce(KernelSet::kFast, args);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * count);
  state.SetBytesProcessed(state.iterations() * bytes * (c.sources + c.dsts));
}

void BM_Memcpy(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const std::size_t places = static_cast<std::size_t>(kFootprint) / (2 * bytes);
  std::size_t place = 0;
  for (auto _ : state) {
    std::byte* p = Memory() + 2 * bytes * place;
    place = place + 1 == places ? 0 : place + 1;
    std::memcpy(p + bytes, p, bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(2 * bytes));
}

void Register(const Case& c) {
  benchmark::RegisterBenchmark(c.Name().c_str(), [c](benchmark::State& s) { BM_Reduce(s, c); })
      ->RangeMultiplier(4)
      ->Range(4 << 10, 64 << 20);
}

const bool kRegistered = [] {
  for (const bool warm : {false, true}) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF8E4M3, DType::kF64,
                              DType::kI32, DType::kU8, DType::kBool}) {
      for (const int sources : {2, 3, 8}) {
        Register({dtype, ReduceOp::kSum, sources, 1, false, warm});
      }
      Register({dtype, ReduceOp::kSum, 2, 1, true, warm});
    }
    for (const bool streaming : {false, true}) {
      Register({DType::kF32, ReduceOp::kSum, 1, 1, streaming, warm});  // a copy
      Register({DType::kF32, ReduceOp::kSum, 2, 2, streaming, warm});
      Register({DType::kBF16, ReduceOp::kSum, 2, 2, streaming, warm});
    }
    Register({DType::kF32, ReduceOp::kMax, 2, 1, false, warm});
    Register({DType::kF32, ReduceOp::kPremulSum, 2, 1, false, warm});
    Register({DType::kComplex64, ReduceOp::kProd, 2, 1, false, warm});
    Register({DType::kF32I32, ReduceOp::kMinLoc, 2, 1, false, warm});
  }
  benchmark::RegisterBenchmark("memcpy", BM_Memcpy)->RangeMultiplier(4)->Range(4 << 10, 64 << 20);
  return true;
}();

}  // namespace
}  // namespace chorus
