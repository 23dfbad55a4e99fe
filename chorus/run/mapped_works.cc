#include "chorus/run/mapped_works.h"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <utility>
#include <variant>

#include "chorus/schedule/linear_order.h"

namespace chorus {
namespace {

// What lies in a chunk, told by where it comes from.
struct Sum {
  std::vector<MappedPlace> inputs;  // one: an input as it is
};
struct Finished {
  std::size_t work = 0;
};
using Value = std::variant<Sum, Finished>;

// Carries out the schedule on Values and collects the works of all ranks.
class Deriver {
 public:
  explicit Deriver(const Expansion& expansion) : e_(expansion) {}

  // Empty if the schedule has no mapped plan.
  std::optional<std::vector<MappedWork>> Run() {
    const auto order = LinearOrder(e_, 1, Pick::kFirst);
    if (!order.ok()) return std::nullopt;
    for (const Action& action : *order) {
      const Step& step =
          e_.ranks[static_cast<std::size_t>(action.rank)][static_cast<std::size_t>(action.step)];
      if (!Do(action.rank, step)) return std::nullopt;
    }
    if (WorksMeet()) return std::nullopt;
    return std::move(works_);
  }

 private:
  using Memory = std::tuple<std::int64_t, BufferKind, std::int64_t>;  // rank, buffer, slot or block

  static Memory MemoryOf(std::int64_t rank, const Chunk& chunk) {
    return {rank, chunk.buffer, IsScratch(chunk.buffer) ? chunk.slot : chunk.block};
  }

  std::optional<Value> Read(std::int64_t rank, const Chunk& chunk) const {
    if (chunk.buffer == BufferKind::kIn) {
      return Sum{{{rank, BufferKind::kIn, chunk.block, chunk.scaled}}};
    }
    const auto found = memory_.find(MemoryOf(rank, chunk));
    if (found == memory_.end()) return std::nullopt;
    Value value = found->second;
    if (chunk.scaled) {
      auto* const sum = std::get_if<Sum>(&value);
      if (sum == nullptr || sum->inputs.size() != 1) return std::nullopt;
      sum->inputs[0].scaled = true;
    }
    return value;
  }

  bool Do(std::int64_t rank, const Step& step) {
    switch (step.verb) {
      case Verb::kSend:
        return Send(rank, step);
      case Verb::kRecv:
        return Recv(rank, step);
      case Verb::kCopy: {
        std::optional<Value> value = Read(rank, step.a());
        return value.has_value() && Write(rank, step.dst(), std::move(*value), step.finish);
      }
      case Verb::kReduce:
        break;
    }
    std::optional<Value> a = Read(rank, step.a());
    std::optional<Value> b = Read(rank, step.b());
    if (!a.has_value() || !b.has_value()) return false;
    auto* const left = std::get_if<Sum>(&*a);
    const auto* const right = std::get_if<Sum>(&*b);
    // a op (b op c) is not (a op b) op c.
    if (left == nullptr || right == nullptr || right->inputs.size() != 1) return false;
    left->inputs.push_back(right->inputs[0]);
    return Write(rank, step.dst(), std::move(*a), step.finish);
  }

  bool Send(std::int64_t rank, const Step& step) {
    std::vector<Value>& message = messages_[KeyOf(step, rank)];
    for (const Chunk& chunk : step.chunks) {
      std::optional<Value> value = Read(rank, chunk);
      if (!value.has_value() || !IsOwn(rank, *value)) return false;
      message.push_back(std::move(*value));
    }
    return true;
  }

  // What a rank had from the start or has itself finished.
  bool IsOwn(std::int64_t rank, const Value& value) const {
    if (const auto* finished = std::get_if<Finished>(&value)) {
      return works_[finished->work].owner == rank;
    }
    const std::vector<MappedPlace>& inputs = std::get<Sum>(value).inputs;
    return inputs.size() == 1 && inputs[0].rank == rank && !inputs[0].scaled;
  }

  bool Recv(std::int64_t rank, const Step& step) {
    std::vector<Value>& message = messages_[KeyOf(step, rank)];
    for (std::size_t i = 0; i < step.chunks.size(); ++i) {
      if (!Write(rank, step.chunks[i], std::move(message[i]), false)) return false;
    }
    return true;
  }

  // Whatever comes into an `out` is a destination of a work.
  bool Write(std::int64_t rank, const Chunk& chunk, Value value, bool finish) {
    if (chunk.buffer == BufferKind::kIn) return false;
    if (chunk.buffer == BufferKind::kOut) {
      const MappedPlace place = {rank, BufferKind::kOut, chunk.block, false};
      if (const auto* sum = std::get_if<Sum>(&value)) {
        const bool is_copy = sum->inputs.size() == 1 && !sum->inputs[0].scaled && !finish;
        if (is_copy) {
          works_[CopyOf(sum->inputs[0])].destinations.push_back(place);
        } else {
          if (!finish) return false;  // rounded more than once
          works_.push_back({rank, sum->inputs, {place}, true});
          value = Finished{works_.size() - 1};
        }
      } else {
        if (finish) return false;
        works_[std::get<Finished>(value).work].destinations.push_back(place);
      }
    }
    memory_.insert_or_assign(MemoryOf(rank, chunk), std::move(value));
    return true;
  }

  // The work that carries an input to wherever it goes unchanged.
  std::size_t CopyOf(const MappedPlace& input) {
    const auto [found, is_new] = copies_.try_emplace({input.rank, input.block}, works_.size());
    if (is_new) works_.push_back({input.rank, {input}, {}, false});
    return found->second;
  }

  // Whether one work writes what another touches, in[b] and out[b] of a rank being the same.
  bool WorksMeet() const {
    std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> writer;
    for (std::size_t w = 0; w < works_.size(); ++w) {
      for (const MappedPlace& place : works_[w].destinations) {
        if (!writer.try_emplace({place.rank, place.block}, w).second) return true;
      }
    }
    for (std::size_t w = 0; w < works_.size(); ++w) {
      for (const MappedPlace& place : works_[w].sources) {
        const auto found = writer.find({place.rank, place.block});
        if (found != writer.end() && found->second != w) return true;
      }
    }
    return false;
  }

  const Expansion& e_;
  std::map<Memory, Value> memory_;
  std::map<MessageKey, std::vector<Value>> messages_;
  std::vector<MappedWork> works_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> copies_;  // by rank and block
};

std::string Text(const MappedPlace& place) {
  return fmt::format("{}{}@{}[{}]", place.scaled ? "scaled " : "", place.rank, Name(place.buffer),
                     place.block);
}

std::string Join(const std::vector<MappedPlace>& places, std::string_view between) {
  std::string text;
  for (const MappedPlace& place : places) {
    if (!text.empty()) text += between;
    text += Text(place);
  }
  return text;
}

}  // namespace

std::string MappedWork::ToString() const {
  std::string text = fmt::format("{} = {}{}", Join(destinations, ", "), Join(sources, " op "),
                                 finish ? "; finish" : "");
  if (begin != 0 || end != kWhole) text += fmt::format("; of {}: {} .. {}", kWhole, begin, end);
  return text;
}

std::optional<MappedWorks> WorksOf(const Expansion& expansion) {
  std::optional<std::vector<MappedWork>> all = Deriver(expansion).Run();
  if (!all.has_value()) return std::nullopt;
  return MappedWorks{expansion.op, expansion.group_size, std::move(*all)};
}

}  // namespace chorus
