#include "chorus/collective/window.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "chorus/collective/exchange.h"
#include "chorus/collective/group_core.h"
#include "chorus/collective/p2p.h"

namespace chorus {

class Window::Impl {
 public:
  // What a rank tells the others when the window is opened.
  struct Side {
    RegionKey memory;   // no owner if it cannot be reached
    RegionKey signals;  // a counter a rank, in the order of their ranks
    DType dtype = DType::kF32;
    std::int64_t count = 0;
  };
  static constexpr std::size_t kWords = 8;

  static std::vector<std::int64_t> ToWords(const Side& side) {
    return {side.memory.owner,
            static_cast<std::int64_t>(side.memory.address),
            side.memory.bytes,
            side.signals.owner,
            static_cast<std::int64_t>(side.signals.address),
            side.signals.bytes,
            static_cast<std::int64_t>(side.dtype),
            side.count};
  }
  static Side FromWords(const std::int64_t* words) {
    const auto key = [](const std::int64_t* three) {
      return RegionKey{static_cast<std::int32_t>(three[0]), static_cast<std::uint64_t>(three[1]),
                       three[2]};
    };
    return {key(words), key(words + 3), static_cast<DType>(words[6]), words[7]};
  }

  Impl(std::shared_ptr<GroupCore> core, std::shared_ptr<void> counters, std::vector<Side> sides)
      : core_(std::move(core)), counters_(std::move(counters)), sides_(std::move(sides)) {}

  GroupCore& core() const { return *core_; }
  const std::shared_ptr<GroupCore>& shared_core() const { return core_; }
  const std::vector<Side>& sides() const { return sides_; }
  const Side& side(int rank) const { return sides_[static_cast<std::size_t>(rank)]; }
  Region counters() const {
    return {static_cast<std::byte*>(counters_.get()), side(core_->rank()).signals};
  }
  bool IsRank(int rank) const { return rank >= 0 && rank < core_->size(); }

 private:
  const std::shared_ptr<GroupCore> core_;
  const std::shared_ptr<void> counters_;  // of this rank
  const std::vector<Side> sides_;         // by rank
};

Result<Window> Group::OpenWindow(MutableBuffer memory, const CallOptions& options) {
  const std::shared_ptr<GroupCore>& core = impl_->core();
  // 1. The memory and the counters of this rank. What is wrong is told to the others too.
  const std::int64_t bytes = memory.count * SizeOf(memory.dtype);
  const std::int64_t counter_bytes = 8 * std::int64_t{core->size()};
  Result<std::shared_ptr<void>> counters = AllocateReachable(counter_bytes);
  Window::Impl::Side mine;
  mine.dtype = memory.dtype;
  mine.count = memory.count;
  Status status = counters.status();
  if (status.ok()) {
    const std::lock_guard<std::mutex> lock(core->endpoint().mutex());
    const Transport& transport = core->endpoint().transport();
    mine.signals = transport.Locate(counters->get(), counter_bytes).value_or(RegionKey());
    const auto place = transport.Locate(memory.count > 0 ? memory.data : counters->get(), bytes);
    if (place.has_value()) {
      mine.memory = *place;
    } else {
      status = Unsupported(fmt::format(
          "open_window: {} B at this address cannot be reached by other ranks; memory from "
          "Group::Allocate can",
          bytes));
    }
  }
  // 2. Everyone's.
  std::vector<std::int64_t> all;
  const Status exchanged =
      Exchange(*core, Agreement::kOpenWindow, Window::Impl::ToWords(mine), all, options, false);
  CHORUS_RETURN_IF_ERROR(status);
  CHORUS_RETURN_IF_ERROR(exchanged);
  std::vector<Window::Impl::Side> sides;
  for (int rank = 0; rank < core->size(); ++rank) {
    sides.push_back(Window::Impl::FromWords(&all[Window::Impl::kWords * sides.size()]));
    if (sides.back().memory.owner < 0) {
      return Unsupported(fmt::format(
          "open_window: rank {} has no memory that others can reach; its own error says why",
          rank));
    }
    if (sides.back().dtype != sides.front().dtype) {
      return InvalidArgument(
          fmt::format("open_window: the memory of rank 0 is {}, that of rank {} "
                      "is {}",
                      Name(sides.front().dtype), rank, Name(sides.back().dtype)));
    }
  }
  return Window(
      std::make_shared<Window::Impl>(core, std::move(counters).value(), std::move(sides)));
}

std::int64_t Window::size(int rank) const { return impl_->side(rank).count; }

Status Window::Put(ConstBuffer data, int to, std::int64_t at) {
  const auto wrong = [](const std::string& why) { return InvalidArgument("put: " + why); };
  GroupCore& core = impl_->core();
  CHORUS_RETURN_IF_ERROR(core.CheckProcess("put"));
  if (!impl_->IsRank(to)) {
    return wrong(fmt::format("{} is not a rank of a group of {}", to, core.size()));
  }
  const Impl::Side& side = impl_->side(to);
  if (data.dtype != side.dtype) {
    return wrong(fmt::format("data is {}, the window is {}", Name(data.dtype), Name(side.dtype)));
  }
  if (data.count < 0 || at < 0 || at > side.count || data.count > side.count - at) {
    return wrong(fmt::format("{} elements at {} are not within the {} of rank {}", data.count, at,
                             side.count, to));
  }
  if (data.data == nullptr && data.count > 0) {
    return wrong(fmt::format("data is null but has {} elements", data.count));
  }
  const std::int64_t size = SizeOf(data.dtype);
  return core.Put(data.data, data.count * size, side.memory, at * size,
                  Signal{side.signals, 8 * std::int64_t{core.rank()}, 1});
}

std::uint64_t Window::signals(int from) const {
  return impl_->core().endpoint().transport().LoadSignal(impl_->counters(), 8 * std::int64_t{from});
}

Work Window::WaitSignalsAsync(int from, std::uint64_t count, const CallOptions& options) {
  Transfer transfer;
  transfer.kind = Transfer::Kind::kSignals;
  transfer.peer = from;
  transfer.signals = impl_->counters();
  transfer.place = 8 * std::int64_t{from};
  transfer.wanted = count;
  std::shared_ptr<Operation> operation = impl_->core().Submit({&transfer, 1}, options);
  impl_->core().endpoint().RunCallbacks();
  return Work::State::WorkOf(impl_->shared_core(), std::move(operation));
}

Status Window::WaitSignals(int from, std::uint64_t count, const CallOptions& options) {
  return WaitSignalsAsync(from, count, options).Wait();
}

}  // namespace chorus
