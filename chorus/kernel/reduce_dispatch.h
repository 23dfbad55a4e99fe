// From a reduction and a dtype to an operation and a format of reduce_scalar.h: the one place that
// both kernel sets go through. Not a public header.
//
// Many pairs are the same loop: integers that wrap are added as unsigned ones, bits are combined as
// bytes, a sum of complex numbers is one of twice as many reals, on bools or is the sum.
#pragma once

#include <cstdint>
#include <type_traits>

#include "chorus/kernel/convert.h"
#include "chorus/kernel/reduce.h"
#include "chorus/kernel/reduce_scalar.h"

namespace chorus {

// The dtype of the elements, where partial results in f32 may be among the sources or the dsts.
inline DType ElementOf(const ReduceArgs& r) {
  if (r.dst_dtype != DType::kF32) return r.dst_dtype;
  for (const ReduceSource& source : r.sources) {
    if (source.dtype != DType::kF32) return source.dtype;
  }
  return DType::kF32;
}

namespace reduce_dispatch {

namespace rs = reduce_scalar;

template <typename Format, typename Visitor>
void Float(const ReduceArgs& r, const Visitor& visit) {
  switch (r.op) {
    case ReduceOp::kProd:
      return visit(rs::Prod(), Format(), r);
    case ReduceOp::kMin:
      return visit(rs::Min(), Format(), r);
    case ReduceOp::kMax:
      return visit(rs::Max(), Format(), r);
    case ReduceOp::kPremulSum:
      return visit(rs::PremulSum(), Format(), r);
    default:
      return visit(rs::Sum(), Format(), r);
  }
}

template <typename T, typename Visitor>
void Integer(const ReduceArgs& r, const Visitor& visit) {
  using Unsigned = std::make_unsigned_t<T>;
  ReduceArgs bytes = r;
  bytes.count = r.count * static_cast<std::int64_t>(sizeof(T));
  switch (r.op) {
    case ReduceOp::kProd:
      if (r.divisor != 1) return visit(rs::Prod(), rs::Same<T>(), r);
      return visit(rs::Prod(), rs::Same<Unsigned>(), r);
    case ReduceOp::kMin:
      return visit(rs::Min(), rs::Same<T>(), r);
    case ReduceOp::kMax:
      return visit(rs::Max(), rs::Same<T>(), r);
    case ReduceOp::kPremulSum:
      if (r.divisor != 1) return visit(rs::PremulSum(), rs::Same<T>(), r);
      return visit(rs::PremulSum(), rs::Same<Unsigned>(), r);
    case ReduceOp::kBitAnd:
      return visit(rs::BitAnd(), rs::Same<std::uint8_t>(), bytes);
    case ReduceOp::kBitOr:
      return visit(rs::BitOr(), rs::Same<std::uint8_t>(), bytes);
    case ReduceOp::kBitXor:
      return visit(rs::BitXor(), rs::Same<std::uint8_t>(), bytes);
    case ReduceOp::kLogicalAnd:
      return visit(rs::BitAnd(), rs::Truth<Unsigned>(), r);
    case ReduceOp::kLogicalOr:
      return visit(rs::BitOr(), rs::Truth<Unsigned>(), r);
    case ReduceOp::kLogicalXor:
      return visit(rs::BitXor(), rs::Truth<Unsigned>(), r);
    default:
      if (r.divisor != 1) return visit(rs::Sum(), rs::Same<T>(), r);
      return visit(rs::Sum(), rs::Same<Unsigned>(), r);
  }
}

template <typename Visitor>
void Bool(const ReduceArgs& r, const Visitor& visit) {
  using Format = rs::Truth<std::uint8_t>;
  switch (r.op) {
    case ReduceOp::kProd:
    case ReduceOp::kMin:
    case ReduceOp::kBitAnd:
    case ReduceOp::kLogicalAnd:
      return visit(rs::BitAnd(), Format(), r);
    case ReduceOp::kBitXor:
    case ReduceOp::kLogicalXor:
      return visit(rs::BitXor(), Format(), r);
    default:
      return visit(rs::BitOr(), Format(), r);
  }
}

template <typename T, typename Visitor>
void Complex(const ReduceArgs& r, const Visitor& visit) {
  if (r.op == ReduceOp::kProd) return visit(rs::Prod(), rs::Same<rs::Complex<T>>(), r);
  ReduceArgs reals = r;
  reals.count = 2 * r.count;
  if (r.op == ReduceOp::kPremulSum) return visit(rs::PremulSum(), rs::Same<T>(), reals);
  return visit(rs::Sum(), rs::Same<T>(), reals);
}

template <typename T, typename Visitor>
void Locate(const ReduceArgs& r, const Visitor& visit) {
  if (r.op == ReduceOp::kMinLoc) return visit(rs::MinLoc(), rs::Same<Located<T>>(), r);
  return visit(rs::MaxLoc(), rs::Same<Located<T>>(), r);
}

}  // namespace reduce_dispatch

// Calls visit(operation, format, args): args are those given, or others that mean the same.
// REQUIRES: as Reduce; not kUser.
template <typename Visitor>
void DispatchReduce(const ReduceArgs& r, const Visitor& visit) {
  namespace rs = reduce_scalar;
  switch (ElementOf(r)) {
    case DType::kF32:
      return reduce_dispatch::Float<rs::Same<float>>(r, visit);
    case DType::kF64:
      return reduce_dispatch::Float<rs::Same<double>>(r, visit);
    case DType::kF16:
      return reduce_dispatch::Float<rs::Narrow<F16>>(r, visit);
    case DType::kBF16:
      return reduce_dispatch::Float<rs::Narrow<BF16>>(r, visit);
    case DType::kF8E4M3:
      return reduce_dispatch::Float<rs::Narrow<F8E4M3>>(r, visit);
    case DType::kF8E5M2:
      return reduce_dispatch::Float<rs::Narrow<F8E5M2>>(r, visit);
    case DType::kI8:
      return reduce_dispatch::Integer<std::int8_t>(r, visit);
    case DType::kI16:
      return reduce_dispatch::Integer<std::int16_t>(r, visit);
    case DType::kI32:
      return reduce_dispatch::Integer<std::int32_t>(r, visit);
    case DType::kI64:
      return reduce_dispatch::Integer<std::int64_t>(r, visit);
    case DType::kU8:
      return reduce_dispatch::Integer<std::uint8_t>(r, visit);
    case DType::kU16:
      return reduce_dispatch::Integer<std::uint16_t>(r, visit);
    case DType::kU32:
      return reduce_dispatch::Integer<std::uint32_t>(r, visit);
    case DType::kU64:
      return reduce_dispatch::Integer<std::uint64_t>(r, visit);
    case DType::kBool:
      return reduce_dispatch::Bool(r, visit);
    case DType::kComplex64:
      return reduce_dispatch::Complex<float>(r, visit);
    case DType::kComplex128:
      return reduce_dispatch::Complex<double>(r, visit);
    case DType::kF32I32:
      return reduce_dispatch::Locate<float>(r, visit);
    case DType::kF64I64:
      return reduce_dispatch::Locate<double>(r, visit);
    case DType::kI32I32:
      return reduce_dispatch::Locate<std::int32_t>(r, visit);
    case DType::kI64I64:
      return reduce_dispatch::Locate<std::int64_t>(r, visit);
  }
}

}  // namespace chorus
