#include "chorus/collective/coalesce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace chorus {
namespace {

// Whether the result is the same in whatever order contributions are added.
bool IsExact(const Call& call) {
  switch (call.reduce.op()) {
    case ReduceOp::kSum:
    case ReduceOp::kProd:
    case ReduceOp::kAvg:
    case ReduceOp::kPremulSum:
      return IsInteger(call.in.dtype) || call.in.dtype == DType::kBool;
    case ReduceOp::kUser:
      return false;
    default:
      return true;
  }
}

bool MayBePacked(const Call& call, const CoalescingTerms& terms) {
  if (call.op != OpKind::kAllReduce || call.schedule != nullptr || call.in.count < 1) {
    return false;
  }
  const auto bytes = static_cast<double>(call.in.count * SizeOf(call.in.dtype));
  if (2 * bytes / terms.copy_bytes_per_ns > terms.call_ns) return false;
  return IsExact(call) || terms.adds_in_rank_order(call);
}

bool AreAlike(const Call& a, const Call& b) {
  return a.in.dtype == b.in.dtype && a.reduce.op() == b.reduce.op() &&
         a.reduce.Hash() == b.reduce.Hash() && a.algorithm == b.algorithm && a.timeout == b.timeout;
}

// The two farthest ends so far, of different calls.
class Farthest {
 public:
  void Add(std::uintptr_t end, int call) {
    if (call == best_.call) {
      best_.end = std::max(best_.end, end);
    } else if (end > best_.end) {
      next_ = best_;
      best_ = {end, call};
    } else if (end > next_.end) {
      next_ = {end, call};
    }
  }
  // A call other than `call` whose end is beyond `begin`; -1 if there is none.
  int Beyond(std::uintptr_t begin, int call) const {
    const End& other = best_.call == call ? next_ : best_;
    return other.end > begin ? other.call : -1;
  }

 private:
  struct End {
    std::uintptr_t end = 0;
    int call = -1;
  };
  End best_;
  End next_;
};

}  // namespace

std::vector<std::vector<int>> Coalesce(const std::vector<const Call*>& calls,
                                       const CoalescingTerms& terms) {
  std::vector<std::vector<int>> parts;
  struct Open {
    std::size_t part;
    Call packed;  // without memory
  };
  std::vector<Open> open;
  const Call* last = nullptr;
  bool last_may = false;
  for (int i = 0; i < static_cast<int>(calls.size()); ++i) {
    const Call& call = *calls[static_cast<std::size_t>(i)];
    // Lists are often of one kind: to look at a plan costs more than to see that.
    const bool is_repeated = last != nullptr && last->op == call.op && AreAlike(*last, call) &&
                             last->in.count == call.in.count && last->schedule == call.schedule;
    const bool may = is_repeated ? last_may : MayBePacked(call, terms);
    last = &call;
    last_may = may;
    const auto takes = [&](Open& part) {
      if (!AreAlike(part.packed, call) || parts[part.part].size() == kMostCoalesced) return false;
      part.packed.in.count += call.in.count;
      const bool fits = part.packed.in.count * SizeOf(call.in.dtype) <= terms.most_bytes &&
                        (IsExact(call) || terms.adds_in_rank_order(part.packed));
      if (!fits) part.packed.in.count -= call.in.count;
      return fits;
    };
    const auto found = may ? std::find_if(open.begin(), open.end(), takes) : open.end();
    if (found != open.end()) {
      parts[found->part].push_back(i);
      continue;
    }
    parts.emplace_back();
    parts.back().reserve(may ? static_cast<std::size_t>(kMostCoalesced) : 1);
    parts.back().push_back(i);
    if (!may) continue;
    open.push_back({parts.size() - 1, call});
  }
  return parts;
}

Call Packed(const std::vector<const Call*>& calls) {
  Call packed = *calls[0];
  std::vector<PackedPart> parts;
  parts.reserve(calls.size());
  packed.in.count = 0;
  for (const Call* call : calls) {
    parts.push_back({call->in.data, call->out.data, call->in.count});
    packed.in.count += call->in.count;
  }
  packed.in.data = packed.out.data = nullptr;
  packed.out.count = packed.in.count;
  packed.packed = std::make_shared<const std::vector<PackedPart>>(std::move(parts));
  return packed;
}

Status CheckApart(const std::vector<CallRange>& ranges) {
  std::vector<CallRange> sorted;
  sorted.reserve(ranges.size());
  for (const CallRange& range : ranges) {
    if (range.data != nullptr && range.bytes > 0) sorted.push_back(range);
  }
  const auto begin = [](const CallRange& r) { return reinterpret_cast<std::uintptr_t>(r.data); };
  std::sort(sorted.begin(), sorted.end(),
            [&](const CallRange& a, const CallRange& b) { return begin(a) < begin(b); });
  Farthest written;
  Farthest any;
  for (const CallRange& range : sorted) {
    const int other = (range.is_written ? any : written).Beyond(begin(range), range.call);
    if (other >= 0) {
      return InvalidArgument(fmt::format(
          "calls {} and {} of a list use the same memory, and one of them writes it; calls of a "
          "list have no order, so make two lists of them",
          std::min(other, range.call) + 1, std::max(other, range.call) + 1));
    }
    const std::uintptr_t end = begin(range) + static_cast<std::uintptr_t>(range.bytes);
    any.Add(end, range.call);
    if (range.is_written) written.Add(end, range.call);
  }
  return OkStatus();
}

std::string DescribeCalls(const std::vector<int>& calls, int of) {
  if (calls.size() == 1) return fmt::format("call {} of {}", calls[0] + 1, of);
  if (calls.size() > 2 && calls.back() - calls.front() + 1 == std::ssize(calls)) {
    return fmt::format("calls {} to {} of {}", calls.front() + 1, calls.back() + 1, of);
  }
  std::string text = "calls ";
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (i > 0) text += i + 1 == calls.size() ? " and " : ", ";
    text += fmt::format("{}", calls[i] + 1);
  }
  return text + fmt::format(" of {}", of);
}

}  // namespace chorus
