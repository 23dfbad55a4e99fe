// ScaLAPACK's psgemm on block-cyclic matrices over a grid of MPI's ranks.
#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/matmul/side.h"
#include "bench/peers/control.h"

extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
int numroc_(const int* n, const int* nb, const int* iproc, const int* source, const int* procs);
void descinit_(int* desc, const int* m, const int* n, const int* mb, const int* nb, const int* row,
               const int* column, const int* context, const int* lld, int* info);
void psgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k,
             const float* alpha, const float* a, const int* ia, const int* ja, const int* desc_a,
             const float* b, const int* ib, const int* jb, const int* desc_b, const float* beta,
             float* c, const int* ic, const int* jc, const int* desc_c);
}

namespace matmul {
namespace {

// A matrix of which this rank holds every (rows of the grid)-th block of rows, and of columns
// alike; column-major.
struct Distributed {
  std::vector<float> elements;
  int desc[9] = {};
  int rows = 0, columns = 0;  // held here

  std::string Lay(int m, int n, int tile, int context, const int* grid, const int* place) {
    const int zero = 0;
    rows = numroc_(&m, &tile, &place[0], &zero, &grid[0]);
    columns = numroc_(&n, &tile, &place[1], &zero, &grid[1]);
    const int leading = std::max(1, rows);
    int info = 0;
    descinit_(desc, &m, &n, &tile, &tile, &zero, &zero, &context, &leading, &info);
    elements.assign(static_cast<std::size_t>(leading) * static_cast<std::size_t>(columns), 0);
    return info == 0 ? "" : "descinit " + std::to_string(info);
  }
};

// The place in the whole of index `local` of rank `place` of `procs`.
std::int64_t Global(int local, int tile, int place, int procs) {
  return (static_cast<std::int64_t>(local / tile) * procs + place) * tile + local % tile;
}

class ScaLapack : public Side {
 public:
  ScaLapack() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    peers::PinToCore(rank_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void Barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

  std::string Prepare(const Block& block) override {
    block_ = block;
    if (context_ >= 0) Cblacs_gridexit(context_);
    Cblacs_get(-1, 0, &context_);
    Cblacs_gridinit(&context_, "Row", block.grid_rows, size_ / block.grid_rows);
    Cblacs_gridinfo(context_, &grid_[0], &grid_[1], &place_[0], &place_[1]);
    const int m = static_cast<int>(block.m), n = static_cast<int>(block.n),
              k = static_cast<int>(block.k);
    std::string error = a_.Lay(m, k, block.tile, context_, grid_, place_);
    if (error.empty()) error = b_.Lay(k, n, block.tile, context_, grid_, place_);
    if (error.empty()) error = c_.Lay(m, n, block.tile, context_, grid_, place_);
    Fill(a_, NumberA);
    Fill(b_, NumberB);
    return error;
  }

  std::string Multiply() override {
    const int m = static_cast<int>(block_.m), n = static_cast<int>(block_.n),
              k = static_cast<int>(block_.k), one = 1;
    const float alpha = 1, beta = 0;
    psgemm_("N", "N", &m, &n, &k, &alpha, a_.elements.data(), &one, &one, a_.desc,
            b_.elements.data(), &one, &one, b_.desc, &beta, c_.elements.data(), &one, &one,
            c_.desc);
    return "";
  }

  std::string Check() override {
    for (int s = 0; s < 40 && c_.rows > 0 && c_.columns > 0; ++s) {
      const int i = s * 7919 % c_.rows, k = s * 104729 % c_.columns;
      const std::int64_t row = Global(i, block_.tile, place_[0], grid_[0]);
      const std::int64_t column = Global(k, block_.tile, place_[1], grid_[1]);
      const auto at = static_cast<std::size_t>(k) * static_cast<std::size_t>(c_.rows) +
                      static_cast<std::size_t>(i);
      if (static_cast<double>(c_.elements[at]) == NumberC(block_, row, column)) continue;
      return "C[" + std::to_string(row) + ", " + std::to_string(column) + "] is " +
             std::to_string(c_.elements[at]);
    }
    return "";
  }

 private:
  template <typename Number>
  void Fill(Distributed& matrix, Number number) const {
    for (int j = 0; j < matrix.columns; ++j) {
      for (int i = 0; i < matrix.rows; ++i) {
        const auto at = static_cast<std::size_t>(j) * static_cast<std::size_t>(matrix.rows) +
                        static_cast<std::size_t>(i);
        matrix.elements[at] =
            static_cast<float>(number(Global(i, block_.tile, place_[0], grid_[0]),
                                      Global(j, block_.tile, place_[1], grid_[1])));
      }
    }
  }

  int rank_ = 0, size_ = 1;
  int context_ = -1;
  int grid_[2] = {}, place_[2] = {};
  Block block_;
  Distributed a_, b_, c_;
};

}  // namespace

std::unique_ptr<Side> MakeSide(int* argc, char*** argv, int /*rank*/, int /*size*/) {
  MPI_Init(argc, argv);
  return std::make_unique<ScaLapack>();
}

}  // namespace matmul
