#include "chorus/base/reduction.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <utility>

namespace chorus {
namespace {

std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 1099511628211u;  // FNV-1a
}

// Whether `factor` is a value of the integer dtype. 2^63 and 2^64 are exact as doubles.
bool IsValueOf(double factor, DType dtype) {
  if (factor != std::trunc(factor)) return false;  // also NaN; infinity fails below
  const int bits = static_cast<int>(SizeOf(dtype)) * 8;
  const double end = std::ldexp(1.0, IsSigned(dtype) ? bits - 1 : bits);
  return factor < end && factor >= (IsSigned(dtype) ? -end : 0.0);
}

}  // namespace

Reduction Reduction::PremulSum(double factor) {
  Reduction reduction(ReduceOp::kPremulSum);
  reduction.has_factor_ = true;
  reduction.factor_ = factor;
  return reduction;
}

Reduction Reduction::User(UserReduction user) {
  return User(std::make_shared<const UserReduction>(std::move(user)));
}

Reduction Reduction::User(std::shared_ptr<const UserReduction> user) {
  Reduction reduction(ReduceOp::kUser);
  reduction.user_ = std::move(user);
  return reduction;
}

std::string Reduction::ToString() const {
  if (has_factor_) return fmt::format("{} {}", Name(op_), factor_);
  if (user_ != nullptr) return fmt::format("{} {}", Name(op_), user_->name);
  return std::string(Name(op_));
}

std::uint64_t Reduction::Hash() const {
  std::uint64_t hash = Mix(14695981039346656037u, static_cast<std::uint64_t>(op_));
  if (has_factor_) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &factor_, sizeof(bits));
    hash = Mix(hash, bits);
  }
  if (user_ != nullptr) {
    for (const char c : user_->name) hash = Mix(hash, static_cast<unsigned char>(c));
    hash = Mix(hash, user_->commutes ? 2 : 1);
  }
  return hash;
}

Status CheckReduction(const Reduction& reduction, DType dtype) {
  const ReduceOp op = reduction.op();
  if (!Supports(op, dtype)) {
    return Unsupported(fmt::format("{} of {} has no meaning: {}", Name(op), Name(dtype),
                                   WhyUnsupported(op, dtype)));
  }
  if (op == ReduceOp::kPremulSum) {
    if (!reduction.has_factor_) {
      return InvalidArgument("premul_sum has no factor; Reduction::PremulSum(0.5) gives one");
    }
    if (IsInteger(dtype) && !IsValueOf(reduction.factor_, dtype)) {
      return InvalidArgument(
          fmt::format("the factor {} of premul_sum is no value of {}; give a "
                      "whole number in its range",
                      reduction.factor_, Name(dtype)));
    }
  }
  if (op == ReduceOp::kUser && (reduction.user() == nullptr || !reduction.user()->combine)) {
    return InvalidArgument("a user's reduction has no function; Reduction::User gives one");
  }
  return OkStatus();
}

}  // namespace chorus
