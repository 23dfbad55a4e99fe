#include "chorus/kernel/matmul.h"

#include <dnnl.h>

#include <algorithm>
#include <vector>

// libgomp runs oneDNN's teams. Declared here because its header is a compiler's private one.
extern "C" void omp_set_num_threads(int threads);

namespace chorus {
namespace {

// Rows of b that stay in the first-level cache while a block of rows of c passes over them.
constexpr std::int64_t kDepth = 64;

// out (C,R) = in (R,C) transposed.
template <typename T>
std::vector<T> Transposed(const T* in, std::int64_t rows, std::int64_t columns) {
  std::vector<T> out(static_cast<std::size_t>(rows * columns));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) out[c * rows + r] = in[r * columns + c];
  }
  return out;
}

// a (M,K), b (K,N) -> c (M,N), both operands stored as they are read, so that the inner loop runs
// along rows of b and c. Every c[i][j] sums over k in ascending order whatever the shape.
template <typename T>
void PlainMatmul(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b, T* c) {
  for (std::int64_t k0 = 0; k0 < k; k0 += kDepth) {
    const std::int64_t k1 = std::min(k, k0 + kDepth);
    for (std::int64_t i = 0; i < m; ++i) {
      T* row = c + i * n;
      for (std::int64_t p = k0; p < k1; ++p) {
        const T factor = a[i * k + p];
        const T* from = b + p * n;
        for (std::int64_t j = 0; j < n; ++j) row[j] += factor * from[j];
      }
    }
  }
}

template <typename T>
void RunPlain(const MatmulShape& s, const T* a, const T* b, T* c, bool accumulate) {
  if (!accumulate) std::fill_n(c, s.m * s.n, T{0});
  std::vector<T> straight_a;
  std::vector<T> straight_b;
  if (s.transpose_a) {
    straight_a = Transposed(a, s.k, s.m);
    a = straight_a.data();
  }
  if (s.transpose_b) {
    straight_b = Transposed(b, s.n, s.k);
    b = straight_b.data();
  }
  PlainMatmul(s.m, s.n, s.k, a, b, c);
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
  executed += shape.flops();
  const auto& [m, n, k, transpose_a, transpose_b] = shape;
  // oneDNN refuses leading dimensions of 0; an empty product has nothing for it to do anyway.
  if (set == KernelSet::kPlain || m == 0 || n == 0 || k == 0) {
    RunPlain(shape, a, b, c, accumulate);
    return;
  }
  const dnnl_status_t status =
      dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1.0F, a,
                 transpose_a ? m : k, b, transpose_b ? k : n, accumulate ? 1.0F : 0.0F, c, n);
  // It fails only for arguments that cannot be formed above, or when it finds no scratch memory.
  if (status != dnnl_success) RunPlain(shape, a, b, c, accumulate);
}

template void Matmul<double>(KernelSet, const MatmulShape&, const double*, const double*, double*,
                             bool, Flops&);

void SetMatmulThreads(int threads) { omp_set_num_threads(std::max(1, threads)); }

}  // namespace chorus
