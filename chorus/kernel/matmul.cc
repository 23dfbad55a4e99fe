#include "chorus/kernel/matmul.h"

#include <algorithm>
#include <dnnl.hpp>
#include <type_traits>
#include <vector>

#include "chorus/kernel/convert.h"
#include "chorus/kernel/small_float.h"

// libgomp runs oneDNN's teams. Declared here because its header is a compiler's private one.
extern "C" void omp_set_num_threads(int threads);

namespace chorus {
namespace {

// Rows of b that stay in the first-level cache while a block of rows of c passes over them.
constexpr std::int64_t kDepth = 64;

// out (R,C), dense = in (R,C), its rows `row` apart; or (C,R) = in transposed.
template <typename T>
std::vector<T> Dense(const T* in, std::int64_t rows, std::int64_t columns, std::int64_t row,
                     bool transpose) {
  std::vector<T> out(static_cast<std::size_t>(rows * columns));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      out[transpose ? c * rows + r : r * columns + c] = in[r * row + c];
    }
  }
  return out;
}

// a (M,K), b (K,N) -> c (M,N), both operands stored as they are read, so that the inner loop runs
// along rows of b and c. Every c[i][j] sums over k in ascending order whatever the shape.
template <typename T>
void PlainMatmul(const MatmulShape& s, const T* a, std::int64_t row_a, const T* b,
                 std::int64_t row_b, T* c) {
  for (std::int64_t k0 = 0; k0 < s.k; k0 += kDepth) {
    const std::int64_t k1 = std::min(s.k, k0 + kDepth);
    for (std::int64_t i = 0; i < s.m; ++i) {
      T* row = c + i * s.RowC();
      for (std::int64_t p = k0; p < k1; ++p) {
        const T factor = a[i * row_a + p];
        const T* from = b + p * row_b;
        for (std::int64_t j = 0; j < s.n; ++j) row[j] += factor * from[j];
      }
    }
  }
}

template <typename T>
void RunPlain(const MatmulShape& s, const T* a, const T* b, T* c, bool accumulate) {
  for (std::int64_t i = 0; i < s.m && !accumulate; ++i) std::fill_n(c + i * s.RowC(), s.n, T{0});
  std::vector<T> straight_a;
  std::vector<T> straight_b;
  std::int64_t row_a = s.RowA();
  std::int64_t row_b = s.RowB();
  if (s.transpose_a) {
    straight_a = Dense(a, s.k, s.m, row_a, /*transpose=*/true);
    a = straight_a.data();
    row_a = s.k;
  }
  if (s.transpose_b) {
    straight_b = Dense(b, s.n, s.k, row_b, /*transpose=*/true);
    b = straight_b.data();
    row_b = s.n;
  }
  PlainMatmul(s, a, row_a, b, row_b, c);
}

void MatmulF32(KernelSet set, const MatmulShape& s, const float* a, const float* b, float* c,
               bool accumulate) {
  // oneDNN refuses leading dimensions of 0; an empty product has nothing for it to do anyway.
  if (set == KernelSet::kPlain || s.m == 0 || s.n == 0 || s.k == 0) {
    RunPlain(s, a, b, c, accumulate);
    return;
  }
  const dnnl_status_t status =
      dnnl_sgemm(s.transpose_a ? 'T' : 'N', s.transpose_b ? 'T' : 'N', s.m, s.n, s.k, 1.0F, a,
                 s.RowA(), b, s.RowB(), accumulate ? 1.0F : 0.0F, c, s.RowC());
  // It fails only for arguments that cannot be formed above, or when it finds no scratch memory.
  if (status != dnnl_success) RunPlain(s, a, b, c, accumulate);
}

// bf16 by way of f32, for the plain set and for CPUs on which oneDNN has no bf16. c is bf16 or f32.
template <typename C>
void WidenedBF16(KernelSet set, const MatmulShape& s, const std::uint16_t* a,
                 const std::uint16_t* b, C* c, bool accumulate) {
  const auto widened = [set](const std::uint16_t* in, std::int64_t rows, std::int64_t columns,
                             std::int64_t row) {
    const std::vector<std::uint16_t> dense = Dense(in, rows, columns, row, /*transpose=*/false);
    std::vector<float> out(dense.size());
    Convert(set, dense.data(), DType::kBF16, out.data(), DType::kF32, rows * columns);
    return out;
  };
  const std::vector<float> wide_a =
      s.transpose_a ? widened(a, s.k, s.m, s.RowA()) : widened(a, s.m, s.k, s.RowA());
  const std::vector<float> wide_b =
      s.transpose_b ? widened(b, s.n, s.k, s.RowB()) : widened(b, s.k, s.n, s.RowB());
  if constexpr (std::is_same_v<C, float>) {
    MatmulShape in_place{s.m, s.n, s.k, s.transpose_a, s.transpose_b};
    in_place.row_c = s.row_c;
    MatmulF32(set, in_place, wide_a.data(), wide_b.data(), c, accumulate);
    return;
  } else {
    std::vector<float> wide_c(static_cast<std::size_t>(s.m * s.n));
    if (accumulate) wide_c = widened(c, s.m, s.n, s.RowC());
    const MatmulShape dense{s.m, s.n, s.k, s.transpose_a, s.transpose_b};
    MatmulF32(set, dense, wide_a.data(), wide_b.data(), wide_c.data(), accumulate);
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j)
        c[i * s.RowC() + j] = BF16::Narrow(wide_c[i * s.n + j]);
    }
  }
}

// oneDNN's matrix primitive on bf16; false if this CPU has none. It keeps primitives it has made.
template <typename C>
bool PrimitiveBF16(const MatmulShape& s, const std::uint16_t* a, const std::uint16_t* b, C* c,
                   bool accumulate) {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  using Desc = dnnl::memory::desc;
  using Type = dnnl::memory::data_type;
  const auto matrix = [](std::int64_t rows, std::int64_t columns, std::int64_t row, bool transpose,
                         Type type) {
    const dnnl::memory::dims strides = {transpose ? 1 : row, transpose ? row : 1};
    return Desc({rows, columns}, type, strides);
  };
  try {
    const Desc desc_a = matrix(s.m, s.k, s.RowA(), s.transpose_a, Type::bf16);
    const Desc desc_b = matrix(s.k, s.n, s.RowB(), s.transpose_b, Type::bf16);
    const Desc desc_c =
        matrix(s.m, s.n, s.RowC(), false, std::is_same_v<C, float> ? Type::f32 : Type::bf16);
    dnnl::primitive_attr attributes;
    if (accumulate) {
      dnnl::post_ops sum;
      sum.append_sum();
      attributes.set_post_ops(sum);
    }
    const dnnl::matmul::primitive_desc described({desc_a, desc_b, desc_c}, attributes, cpu,
                                                 /*allow_empty=*/true);
    if (!described) return false;
    dnnl::stream stream(cpu);
    const auto memory = [](const Desc& desc, const void* data) {
      return dnnl::memory(desc, cpu, const_cast<void*>(data));
    };
    dnnl::matmul(described).execute(stream, {{DNNL_ARG_SRC, memory(desc_a, a)},
                                             {DNNL_ARG_WEIGHTS, memory(desc_b, b)},
                                             {DNNL_ARG_DST, memory(desc_c, c)}});
    stream.wait();
  } catch (const dnnl::error&) {
    return false;  // no scratch memory; nothing has been written yet
  }
  return true;
}

template <typename C>
void MatmulBF16(KernelSet set, const MatmulShape& s, const std::uint16_t* a, const std::uint16_t* b,
                C* c, bool accumulate) {
  const bool empty = s.m == 0 || s.n == 0 || s.k == 0;
  if (set == KernelSet::kFast && !empty && PrimitiveBF16(s, a, b, c, accumulate)) return;
  WidenedBF16(set, s, a, b, c, accumulate);
}

}  // namespace

template <typename T>
void Matmul(KernelSet /*set*/, const MatmulShape& shape, const T* a, const T* b, T* c,
            bool accumulate, Flops& executed) {
  RunPlain(shape, a, b, c, accumulate);
  executed += shape.flops();
}

template <>
void Matmul<float>(KernelSet set, const MatmulShape& shape, const float* a, const float* b,
                   float* c, bool accumulate, Flops& executed) {
  MatmulF32(set, shape, a, b, c, accumulate);
  executed += shape.flops();
}

template void Matmul<double>(KernelSet, const MatmulShape&, const double*, const double*, double*,
                             bool, Flops&);

void Matmul(KernelSet set, DType dtype, const MatmulShape& shape, const void* a, const void* b,
            void* c, bool accumulate, Flops& executed) {
  const auto run = [&]<typename T>(T* out, auto matmul) {
    matmul(set, shape, static_cast<const T*>(a), static_cast<const T*>(b), out, accumulate);
  };
  executed += shape.flops();
  if (dtype == DType::kBF16) return run(static_cast<std::uint16_t*>(c), MatmulBF16<std::uint16_t>);
  if (dtype == DType::kF32) return run(static_cast<float*>(c), MatmulF32);
  RunPlain(shape, static_cast<const double*>(a), static_cast<const double*>(b),
           static_cast<double*>(c), accumulate);
}

void MatmulBF16ToF32(KernelSet set, const MatmulShape& shape, const void* a, const void* b,
                     float* c, bool accumulate, Flops& executed) {
  executed += shape.flops();
  MatmulBF16(set, shape, static_cast<const std::uint16_t*>(a), static_cast<const std::uint16_t*>(b),
             c, accumulate);
}

void SetMatmulThreads(int threads) { omp_set_num_threads(std::max(1, threads)); }

}  // namespace chorus
