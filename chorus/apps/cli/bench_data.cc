#include "chorus/apps/cli/bench_data.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <type_traits>

#include "chorus/kernel/small_float.h"

namespace chorus::cli {
namespace {

// A narrow float in memory; Codec says what its bits mean.
template <typename Codec>
struct Narrow {
  typename Codec::Element bits;
};

template <typename T>
struct IsNarrow : std::false_type {};
template <typename Codec>
struct IsNarrow<Narrow<Codec>> : std::true_type {};

template <typename T>
constexpr bool kIsInteger = std::is_integral_v<T>;  // bool too

// Calls function(T()) with the type of one element.
template <typename Function>
auto WithElement(DType dtype, const Function& function) {
  switch (dtype) {
    case DType::kF64:  // NOLINT(bugprone-branch-clone): each branch is another type
      return function(double());
    case DType::kF16:
      return function(Narrow<F16>());
    case DType::kBF16:
      return function(Narrow<BF16>());
    case DType::kF8E4M3:
      return function(Narrow<F8E4M3>());
    case DType::kF8E5M2:
      return function(Narrow<F8E5M2>());
    // Each is a type of its own: NOLINTNEXTLINE(bugprone-branch-clone)
    case DType::kI8:
      return function(std::int8_t());
    case DType::kI16:
      return function(std::int16_t());
    case DType::kI32:
      return function(std::int32_t());
    case DType::kI64:
      return function(std::int64_t());
    case DType::kU8:
      return function(std::uint8_t());
    case DType::kU16:
      return function(std::uint16_t());
    case DType::kU32:
      return function(std::uint32_t());
    case DType::kU64:
      return function(std::uint64_t());
    case DType::kBool:
      return function(bool());
    case DType::kComplex64:
      return function(std::complex<float>());
    case DType::kComplex128:
      return function(std::complex<double>());
    default:
      return function(float());
  }
}

// Rounded to nearest even.
template <typename T>
T FromDouble(double value) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
    return static_cast<T>(value);
  } else if constexpr (IsNarrow<T>::value) {
    const auto narrow = [&]<typename Codec>(Narrow<Codec>) {
      return Narrow<Codec>{Codec::Narrow(static_cast<float>(value))};
    };
    return narrow(T());
  } else {
    return T(static_cast<typename T::value_type>(value));
  }
}

template <typename T>
double ToDouble(T value) {
  if constexpr (IsNarrow<T>::value) {
    const auto wide = []<typename Codec>(Narrow<Codec> v) {
      return static_cast<double>(Codec::Widen(v.bits));
    };
    return wide(value);
  } else {
    return static_cast<double>(value);
  }
}

// Well-mixed bits of three numbers (the finaliser of splitmix64, Steele et al., OOPSLA 2014).
std::uint64_t Hash(std::uint64_t seed, std::uint64_t rank, std::uint64_t index) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + rank * 0xd1b54a32d192ed03u + index;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Whole numbers up to this are exact.
double LargestWhole(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3:
      return 16;
    case DType::kF8E5M2:
      return 8;
    case DType::kBF16:
      return 256;
    case DType::kF16:
      return 2048;
    case DType::kF64:
    case DType::kComplex128:
      return 0x1p52;
    default:
      return 0x1p24;
  }
}

// A float of a sum: up to LargestWhole / N in magnitude; where that is less than 1, some ranks have
// 1 or -1 and the others 0.
double SumValue(const BenchCase& c, int rank, std::uint64_t seed, std::int64_t i) {
  const std::uint64_t bits =
      Hash(seed, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(i));
  double budget = LargestWhole(c.dtype);
  if (c.reduce == ReduceOp::kPremulSum) budget /= kBenchFactor;
  double magnitude = 1;
  if (budget >= c.ranks) {
    const double most = std::min(std::floor(budget / c.ranks), 0x1p30);
    magnitude = static_cast<double>(bits >> 2 & 0xffffffffu) / 0x1p32 * most;
    magnitude = 1 + std::floor(magnitude) * (most > 1 ? 1 : 0);
    magnitude = std::min(magnitude, most);
  } else if ((rank + i) % c.ranks >= static_cast<std::int64_t>(budget)) {
    magnitude = 0;
  }
  return (bits & 1) != 0 ? -magnitude : magnitude;
}

// A float of a product: 1 or -1, and 2 or -2 on three ranks.
double ProductValue(const BenchCase& c, int rank, std::uint64_t seed, std::int64_t i) {
  const std::uint64_t bits =
      Hash(seed, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(i));
  const double magnitude = (rank + i) % c.ranks < 3 ? 2 : 1;
  // The imaginary zeros of a product of complex numbers have signs of their own.
  return (bits & 1) != 0 && !IsComplex(c.dtype) ? -magnitude : magnitude;
}

// Element i of the input of `rank`.
template <typename T>
T Input(const BenchCase& c, int rank, std::uint64_t seed, std::int64_t i) {
  const std::uint64_t bits =
      Hash(seed, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(i));
  if constexpr (kIsInteger<T>) {
    if constexpr (std::is_same_v<T, bool>) return (bits & 1) != 0;
    // The average of integers is of their true sum, so that must not wrap.
    if (c.reduce == ReduceOp::kAvg && Reduces(c.op)) {
      return static_cast<T>(bits % static_cast<std::uint64_t>(std::max(1, 100 / c.ranks)));
    }
    return static_cast<T>(bits);
  } else {
    const double value =
        c.reduce == ReduceOp::kProd ? ProductValue(c, rank, seed, i) : SumValue(c, rank, seed, i);
    T element = FromDouble<T>(value);
    if constexpr (std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      if (c.reduce != ReduceOp::kProd) {
        element.imag(static_cast<typename T::value_type>(SumValue(c, rank, seed + 1, i)));
      }
    }
    return element;
  }
}

// A whole number's bits, sign extended: sums of them wrap as those of the type do.
template <typename T>
std::uint64_t Bits(T value) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

// left op right, exact for the values above. Integers wrap: unsigned arithmetic, truncated.
template <typename T>
T Combine(ReduceOp op, T left, T right) {
  if constexpr (kIsInteger<T>) {
    const std::uint64_t a = Bits(left);
    const std::uint64_t b = Bits(right);
    const bool sums = op == ReduceOp::kSum || op == ReduceOp::kAvg || op == ReduceOp::kPremulSum;
    if (sums) return static_cast<T>(std::is_same_v<T, bool> ? (a | b) : a + b);
    if (op == ReduceOp::kProd) return static_cast<T>(a * b);
    if (op == ReduceOp::kMin) return std::min(left, right);
    if (op == ReduceOp::kMax) return std::max(left, right);
    if (op == ReduceOp::kBitAnd) return static_cast<T>(a & b);
    if (op == ReduceOp::kBitOr) return static_cast<T>(a | b);
    if (op == ReduceOp::kBitXor) return static_cast<T>(a ^ b);
    if (op == ReduceOp::kLogicalAnd) return static_cast<T>(a != 0 && b != 0);
    if (op == ReduceOp::kLogicalOr) return static_cast<T>(a != 0 || b != 0);
    return static_cast<T>((a != 0) != (b != 0));
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    return op == ReduceOp::kProd ? left * right : left + right;
  } else {
    const double a = ToDouble(left);
    const double b = ToDouble(right);
    if (op == ReduceOp::kProd) return FromDouble<T>(a * b);
    if (op == ReduceOp::kMin) return FromDouble<T>(std::min(a, b));
    if (op == ReduceOp::kMax) return FromDouble<T>(std::max(a, b));
    return FromDouble<T>(a + b);
  }
}

// What is done once, after all are combined.
template <typename T>
T Finish(const BenchCase& c, T value) {
  if (c.reduce == ReduceOp::kPremulSum) {
    return Combine<T>(ReduceOp::kSum, value, value);  // kBenchFactor is 2
  }
  if (c.reduce == ReduceOp::kAvg) {
    if constexpr (kIsInteger<T>) {
      if constexpr (!std::is_same_v<T, bool>)
        return static_cast<T>(value / static_cast<T>(c.ranks));
    } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                         std::is_same_v<T, std::complex<double>>) {
      return value / static_cast<typename T::value_type>(c.ranks);
    } else {
      return FromDouble<T>(ToDouble(value) / c.ranks);
    }
  }
  return value;
}

// A reduction of one contribution, as of the only rank of a scan: logical ones make it 0 or 1.
template <typename T>
T Alone(ReduceOp op, T value) {
  if constexpr (kIsInteger<T>) {
    if (op == ReduceOp::kLogicalAnd || op == ReduceOp::kLogicalOr || op == ReduceOp::kLogicalXor) {
      return static_cast<T>(value != 0);
    }
  }
  return value;
}

// Which ranks' inputs come together in a result of `rank`, and where in them element i was.
struct Source {
  int begin = 0;
  int end = 0;
  std::int64_t index = 0;
};
Source SourceOf(const BenchCase& c, int rank, std::int64_t i) {
  const std::int64_t block = std::max<std::int64_t>(1, c.elements() / c.ranks);
  const auto one = [](std::int64_t r, std::int64_t index) {
    return Source{static_cast<int>(r), static_cast<int>(r) + 1, index};
  };
  switch (c.op) {
    case OpKind::kReduceScatter:
      return {0, c.ranks, rank * block + i};
    case OpKind::kScan:
      return {0, rank + 1, i};
    case OpKind::kExScan:
      return {0, rank, i};
    case OpKind::kAllGather:
    case OpKind::kGather:
      return one(i / block, i % block);
    case OpKind::kAllToAll:
      return one(i / block, rank * block + i % block);
    case OpKind::kBroadcast:
      return one(c.root, i);
    case OpKind::kScatter:
      return one(c.root, rank * block + i);
    default:
      return {0, c.ranks, i};
  }
}

template <typename T>
T Expected(const BenchCase& c, int rank, std::uint64_t seed, std::int64_t i) {
  const Source source = SourceOf(c, rank, i);
  T value = Input<T>(c, source.begin, seed, source.index);
  if (!Reduces(c.op)) return value;
  value = Alone(c.reduce, value);
  for (int r = source.begin + 1; r < source.end; ++r) {
    value = Combine<T>(c.reduce, value, Input<T>(c, r, seed, source.index));
  }
  return Finish(c, value);
}

// Whether two elements differ by more than `units` in the last place.
template <typename T>
bool Differs(const T& a, const T& b, std::uint64_t units) {
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): the bits are what is compared.
  if (std::memcmp(&a, &b, sizeof(T)) == 0) return false;
  if (units == 0) return true;
  if constexpr (sizeof(T) <= 8 && !std::is_same_v<T, std::complex<float>>) {
    std::uint64_t x = 0;
    std::uint64_t y = 0;
    std::memcpy(&x, &a, sizeof(T));
    std::memcpy(&y, &b, sizeof(T));
    return std::max(x, y) - std::min(x, y) > units;
  } else {
    return Differs(a.real(), b.real(), units) || Differs(a.imag(), b.imag(), units);
  }
}

}  // namespace

void FillInput(const BenchCase& c, int rank, std::uint64_t seed, void* data) {
  WithElement(c.dtype, [&](auto type) {
    using T = decltype(type);
    auto* elements = static_cast<T*>(data);
    const std::int64_t count = CountsOf(c, rank).in;
    for (std::int64_t i = 0; i < count; ++i) elements[i] = Input<T>(c, rank, seed, i);
  });
}

std::int64_t CountWrong(const BenchCase& c, int rank, std::uint64_t seed, const void* got) {
  const bool rounds = Reduces(c.op) && c.reduce == ReduceOp::kAvg && !IsInteger(c.dtype);
  return WithElement(c.dtype, [&](auto type) {
    using T = decltype(type);
    const auto* elements = static_cast<const T*>(got);
    const std::int64_t count = CountsOf(c, rank).out;
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      wrong += Differs(elements[i], Expected<T>(c, rank, seed, i), rounds ? 2 : 0) ? 1 : 0;
    }
    return wrong;
  });
}

namespace {

double Smooth(int rank, std::uint64_t seed, std::int64_t i) {
  const std::uint64_t bits =
      Hash(seed, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(i));
  return static_cast<double>(bits >> 11) / 0x1p52 - 1;
}

}  // namespace

void FillSmooth(const BenchCase& c, int rank, std::uint64_t seed, void* data) {
  WithElement(c.dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (!kIsInteger<T>) {
      auto* elements = static_cast<T*>(data);
      const std::int64_t count = CountsOf(c, rank).in;
      for (std::int64_t i = 0; i < count; ++i) elements[i] = FromDouble<T>(Smooth(rank, seed, i));
    }
  });
}

double LargestError(const BenchCase& c, int rank, std::uint64_t seed, const void* got) {
  return WithElement(c.dtype, [&](auto type) {
    using T = decltype(type);
    double largest = 0;
    if constexpr (std::is_floating_point_v<T> || IsNarrow<T>::value) {
      // One unit in the last place of 1, relative.
      const double unit = 1 / (c.dtype == DType::kF64   ? 0x1p52
                               : c.dtype == DType::kF32 ? 0x1p23
                                                        : LargestWhole(c.dtype) / 2);
      const auto* elements = static_cast<const T*>(got);
      for (std::int64_t i = 0; i < CountsOf(c, rank).out; ++i) {
        const Source source = SourceOf(c, rank, i);
        double sum = 0;
        double magnitudes = 0;
        for (int r = source.begin; r < source.end; ++r) {
          const double value = ToDouble(FromDouble<T>(Smooth(r, seed, source.index)));
          sum += value;
          magnitudes += std::abs(value);
        }
        const double divisor = c.reduce == ReduceOp::kAvg ? c.ranks : 1;
        const double error = std::abs(ToDouble(elements[i]) - sum / divisor);
        // A NaN is an error without bound.
        const double units = error / (std::max(magnitudes / divisor, 1e-6) * unit);
        largest = std::isnan(units) ? units : std::max(largest, units);
        if (std::isnan(largest)) break;
      }
    }
    return largest;
  });
}

}  // namespace chorus::cli
