#include "chorus/base/dtype.h"

namespace chorus {

std::string_view Name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kF64:
      return "f64";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kI8:
      return "i8";
    case DType::kI16:
      return "i16";
    case DType::kI32:
      return "i32";
    case DType::kI64:
      return "i64";
    case DType::kU8:
      return "u8";
    case DType::kU16:
      return "u16";
    case DType::kU32:
      return "u32";
    case DType::kU64:
      return "u64";
    case DType::kBool:
      return "bool";
    case DType::kF8E4M3:
      return "f8e4m3";
    case DType::kF8E5M2:
      return "f8e5m2";
    case DType::kComplex64:
      return "complex64";
    case DType::kComplex128:
      return "complex128";
    case DType::kF32I32:
      return "f32_i32";
    case DType::kF64I64:
      return "f64_i64";
    case DType::kI32I32:
      return "i32_i32";
    case DType::kI64I64:
      return "i64_i64";
  }
  return "?";
}

std::optional<DType> ParseDType(std::string_view name) {
  for (DType dtype : kAllDTypes) {
    if (Name(dtype) == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace chorus
