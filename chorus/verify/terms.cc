#include "chorus/verify/terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace chorus {
namespace {

constexpr std::size_t kLongestText = 120;  // of a term in a message

}  // namespace

Terms::Terms(OpKind op, std::int64_t group_size, ReduceOrder order)
    : op_(op), group_size_(group_size), order_(order) {}

Terms::Id Terms::Intern(Term term) {
  const auto [found, fresh] =
      known_.insert({{term.kind, term.a, term.b, term.block}, std::ssize(terms_)});
  if (fresh) terms_.push_back(std::move(term));
  return found->second;
}

Terms::Id Terms::Raw(std::int64_t rank, std::int64_t block) {
  Term term{Kind::kRaw, rank, -1, block, rank, rank, {}};
  term.ranks.resize((group_size_ + 63) / 64);
  term.ranks[rank / 64] |= std::uint64_t{1} << (rank % 64);
  return Intern(std::move(term));
}

Result<Terms::Id> Terms::Scale(Id a) {
  if (terms_[a].kind != Kind::kRaw) {
    return InvalidArgument(fmt::format("{} is scaled, but is not a raw contribution", ToString(a)));
  }
  Term term = terms_[a];
  term.kind = Kind::kScaled;
  term.a = a;
  return Intern(std::move(term));
}

Result<Terms::Id> Terms::Sum(Id a, Id b) {
  for (Id x : {a, b}) {
    if (terms_[x].kind == Kind::kRaw) {
      return InvalidArgument(fmt::format("{} is added without its scale", ToString(x)));
    }
    if (terms_[x].kind == Kind::kFinished) {
      return InvalidArgument(fmt::format("{} is finished and can not be added to", ToString(x)));
    }
  }
  Term sum = terms_[a];
  const Term& right = terms_[b];
  if (sum.block != right.block) {
    return InvalidArgument(fmt::format("blocks {} and {} are added", sum.block, right.block));
  }
  for (std::size_t i = 0; i < sum.ranks.size(); ++i) {
    const std::uint64_t twice = sum.ranks[i] & right.ranks[i];
    if (twice != 0) {
      return InvalidArgument(fmt::format("rank {} is counted twice in {} + {}",
                                         64 * i + std::countr_zero(twice), ToString(a),
                                         ToString(b)));
    }
    sum.ranks[i] |= right.ranks[i];
  }
  if (order_ == ReduceOrder::kRank && sum.highest + 1 != right.lowest) {
    return InvalidArgument(fmt::format("{} + {} is not in rank order", ToString(a), ToString(b)));
  }
  sum.kind = Kind::kSum;
  sum.a = a;
  sum.b = b;
  sum.lowest = std::min(sum.lowest, right.lowest);
  sum.highest = std::max(sum.highest, right.highest);
  return Intern(std::move(sum));
}

Result<Terms::Id> Terms::Finish(Id a) {
  Term term = terms_[a];
  if (term.kind == Kind::kRaw) {
    return InvalidArgument(fmt::format("{} is finished without its scale", ToString(a)));
  }
  if (term.kind == Kind::kFinished) {
    return InvalidArgument(fmt::format("{} is finished a second time", ToString(a)));
  }
  std::int64_t count = 0;
  for (std::uint64_t word : term.ranks) count += std::popcount(word);
  const std::int64_t wanted = IsScan(op_) ? term.highest + 1 : group_size_;
  if (count != wanted) {
    return InvalidArgument(
        fmt::format("{} is finished with {} of {} contributions", ToString(a), count, wanted));
  }
  term.kind = Kind::kFinished;
  term.a = a;
  term.b = -1;
  return Intern(std::move(term));
}

std::vector<std::int64_t> Terms::Contributors(Id a) const {
  std::vector<std::int64_t> ranks;
  for (std::int64_t rank = terms_[a].lowest; rank <= terms_[a].highest; ++rank) {
    if ((terms_[a].ranks[rank / 64] >> (rank % 64) & 1) != 0) ranks.push_back(rank);
  }
  return ranks;
}

std::string Terms::ToString(Id a) const {
  std::string text;
  Print(a, text);
  if (text.size() <= kLongestText) return text;
  return text.substr(0, kLongestText) + "...";
}

void Terms::Print(Id a, std::string& text) const {
  const Term& term = terms_[a];
  if (text.size() > kLongestText) return;
  switch (term.kind) {
    case Kind::kRaw:
      text += fmt::format("x{}[{}]", term.a, term.block);
      break;
    case Kind::kScaled:
      Print(term.a, text);
      text += "'";
      break;
    case Kind::kSum:
      text += "(";
      Print(term.a, text);
      text += " + ";
      Print(term.b, text);
      text += ")";
      break;
    case Kind::kFinished:
      text += "[";
      Print(term.a, text);
      text += "]";
      break;
  }
}

}  // namespace chorus
