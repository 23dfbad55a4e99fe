#include "chorus/kernel/reduce_plain.h"

#include "chorus/kernel/convert.h"
#include "chorus/kernel/reduce_scalar.h"

namespace chorus {
namespace {

float LoadF32(const ReduceSource& source, std::int64_t i) {
  if (source.dtype == DType::kF16) {
    return FloatFromF16(static_cast<const std::uint16_t*>(source.data)[i]);
  }
  if (source.dtype == DType::kBF16) {
    return FloatFromBF16(static_cast<const std::uint16_t*>(source.data)[i]);
  }
  return static_cast<const float*>(source.data)[i];
}

void StoreF32(float value, void* dst, DType dtype, std::int64_t i) {
  if (dtype == DType::kF16) {
    static_cast<std::uint16_t*>(dst)[i] = F16FromFloat(value);
  } else if (dtype == DType::kBF16) {
    static_cast<std::uint16_t*>(dst)[i] = BF16FromFloat(value);
  } else {
    static_cast<float*>(dst)[i] = value;
  }
}

template <typename Op>
void ReduceF32(const Reduction& r) {
  for (std::int64_t i = 0; i < r.count; ++i) {
    float value = LoadF32(r.sources[0], i);
    for (const ReduceSource& source : r.sources.subspan(1)) {
      value = Op()(value, LoadF32(source, i));
    }
    if (r.divisor != 1) value = reduce_scalar::Divide(value, r.divisor);
    StoreF32(value, r.dst, r.dst_dtype, i);
  }
}

template <typename Op, typename T>
void ReduceSame(const Reduction& r) {
  for (std::int64_t i = 0; i < r.count; ++i) {
    T value = static_cast<const T*>(r.sources[0].data)[i];
    for (const ReduceSource& source : r.sources.subspan(1)) {
      value = Op()(value, static_cast<const T*>(source.data)[i]);
    }
    if (r.divisor != 1) value = reduce_scalar::Divide(value, r.divisor);
    static_cast<T*>(r.dst)[i] = value;
  }
}

template <typename Op>
void ReduceWith(const Reduction& r) {
  switch (r.dst_dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return ReduceF32<Op>(r);
    case DType::kF64:
      return ReduceSame<Op, double>(r);
    case DType::kI8:
      return ReduceSame<Op, std::int8_t>(r);
    case DType::kI16:
      return ReduceSame<Op, std::int16_t>(r);
    case DType::kI32:
      return ReduceSame<Op, std::int32_t>(r);
    case DType::kI64:
      return ReduceSame<Op, std::int64_t>(r);
    case DType::kU8:
    case DType::kBool:
      return ReduceSame<Op, std::uint8_t>(r);
    case DType::kU16:
      return ReduceSame<Op, std::uint16_t>(r);
    case DType::kU32:
      return ReduceSame<Op, std::uint32_t>(r);
    case DType::kU64:
      return ReduceSame<Op, std::uint64_t>(r);
  }
}

}  // namespace

void ReducePlain(const Reduction& r) {
  // On 0 and 1, or is the larger and and is the smaller.
  const bool is_bool = r.dst_dtype == DType::kBool;
  switch (r.op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      return is_bool ? ReduceWith<reduce_scalar::Max>(r) : ReduceWith<reduce_scalar::Sum>(r);
    case ReduceOp::kProd:
      return is_bool ? ReduceWith<reduce_scalar::Min>(r) : ReduceWith<reduce_scalar::Prod>(r);
    case ReduceOp::kMin:
      return ReduceWith<reduce_scalar::Min>(r);
    case ReduceOp::kMax:
      return ReduceWith<reduce_scalar::Max>(r);
  }
}

}  // namespace chorus
