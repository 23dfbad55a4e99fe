#include "bench/peers/block.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <utility>

namespace peers {
namespace {

constexpr std::array<std::pair<std::string_view, Op>, 9> kOps = {{
    {"all_reduce", Op::kAllReduce},
    {"all_gather", Op::kAllGather},
    {"reduce_scatter", Op::kReduceScatter},
    {"all_to_all", Op::kAllToAll},
    {"broadcast", Op::kBroadcast},
    {"reduce", Op::kReduce},
    {"gather", Op::kGather},
    {"scatter", Op::kScatter},
    {"barrier", Op::kBarrier},
}};

constexpr std::array<std::pair<std::string_view, DType>, 3> kDTypes = {{
    {"f32", DType::kF32},
    {"bf16", DType::kBF16},
    {"f16", DType::kF16},
}};

template <typename Table, typename Value>
bool Find(const Table& table, const std::string& name, Value& value) {
  for (const auto& [known, meaning] : table) {
    if (known != name) continue;
    value = meaning;
    return true;
  }
  return false;
}

}  // namespace

bool ParseBlock(const std::string& line, Block& block) {
  std::istringstream words(line);
  std::string word;
  words >> word;
  if (word != "block") return false;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return false;
    const std::string name = word.substr(0, equals);
    const std::string value = word.substr(equals + 1);
    const std::int64_t number = std::strtoll(value.c_str(), nullptr, 10);
    if (name == "op") {
      if (!Find(kOps, value, block.op)) return false;
    } else if (name == "dtype") {
      if (!Find(kDTypes, value, block.dtype)) return false;
    } else if (name == "memory") {
      block.symmetric = value == "symmetric";
    } else if (name == "buffers") {
      block.cold = value == "cold";
    } else if (name == "setting") {
      block.setting = value;
    } else if (name == "bytes") {
      block.bytes = number;
    } else if (name == "rotate") {
      block.rotate = number;
    } else if (name == "reserve") {
      block.reserve = number;
    } else if (name == "samples") {
      block.samples = static_cast<int>(number);
    } else if (name == "calls") {
      block.calls = static_cast<int>(number);
    } else if (name == "warmup") {
      block.warmup = static_cast<int>(number);
    } else {
      return false;
    }
  }
  return true;
}

Counts CountsOf(const Block& block, int rank, int size) {
  const std::int64_t whole = block.bytes / SizeOf(block.dtype);
  const std::int64_t piece = whole / size;
  const bool root = rank == 0;
  switch (block.op) {
    case Op::kAllReduce:
    case Op::kAllToAll:
      return {whole, whole};
    case Op::kAllGather:
      return {piece, whole};
    case Op::kReduceScatter:
      return {whole, piece};
    case Op::kBroadcast:
      return root ? Counts{whole, 0} : Counts{0, whole};
    case Op::kReduce:
      return {whole, root ? whole : 0};
    case Op::kGather:
      return {piece, root ? whole : 0};
    case Op::kScatter:
      return {root ? whole : 0, piece};
    case Op::kBarrier:
      return {};
  }
  return {};
}

Counts LargestCounts(const Block& block, int size) {
  const Counts root = CountsOf(block, 0, size);
  const Counts other = CountsOf(block, size - 1, size);
  return {std::max(root.in, other.in), std::max(root.out, other.out)};
}

}  // namespace peers
