#include "chorus/tensor/trial.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chorus/collective/run_ranks.h"
#include "chorus/kernel/matmul.h"

namespace chorus {
namespace {

struct TrialCase {
  const char* product;
  const char* mesh;
  const char* dims;
};

struct Asked {
  Product product;
  Mesh mesh;
  DimSizes sizes;
  ProductAnswer answer;
};

Asked Ask(const TrialCase& c, DType dtype) {
  Asked asked{*ParseProduct(c.product), *Mesh::Parse(c.mesh), *ParseDimSizes(c.dims), {}};
  Result<ProductAnswer> answer =
      ExplainProduct(asked.product, asked.mesh, asked.sizes, dtype, Tariff());
  EXPECT_TRUE(answer.ok()) << c.product << ": " << answer.status().message();
  asked.answer = *std::move(answer);
  return asked;
}

void ExpectRight(const TrialCase& c, DType dtype, RankKind kind) {
  SCOPED_TRACE(
      fmt::format("{} on {} with {}, {}, {}", c.product, c.mesh, c.dims, Name(dtype), Name(kind)));
  const Asked asked = Ask(c, dtype);
  const Status status =
      RunRanks(static_cast<int>(asked.mesh.size()), kind, [&](Group& group) -> Status {
        // In threads without oneDNN: the thread sanitizer knows nothing of what goes on inside it.
        const bool fast = kind == RankKind::kProcesses;
        if (fast) SetMatmulThreads(1);
        CHORUS_ASSIGN_OR_RETURN(
            const auto runtime,
            Runtime::Create(
                group, asked.mesh,
                {.kernels = fast ? KernelSet::kFast : KernelSet::kPlain, .poison_memory = true}));
        CHORUS_ASSIGN_OR_RETURN(const Trial trial, TryProduct(*runtime, asked.product, asked.answer,
                                                              asked.sizes, dtype, /*runs=*/2));
        if (!trial.check.right()) return Internal(trial.check.first_wrong);
        if (!trial.right()) return Internal("counted is not predicted");
        if (trial.check.checked != trial.check.elements) return Internal("not all were compared");
        if (trial.ranks[0].runs != 3) return Internal("other runs than asked for");
        if (trial.op_times.size() != asked.answer.program.ops().size()) return Internal("no times");
        return OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status.message();
}

constexpr TrialCase kCases[] = {
    {"A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]", "X=2,Y=2", "I=5,J=3,K=7"},  // case 1
    {"A[I, J_X] * B[J, K] -> C[I, K]", "X=3", "I=4,J=7,K=2"},            // case 2
    {"A[I, J_X] * B[J_X, K] -> C[I, K_X]", "X=3", "I=4,J=7,K=2"},        // case 3
    {"A[I_X, J] * B[J, K_X] -> C[I_X, K]", "X=2", "I=5,J=6,K=9"},        // case 4
    {"A[I, J_X] * B[J_X, K]", "X=2", "I=3,J=4,K=5"},                     // left a sum
    {"A[I, J]{U_X} * B[J, K] -> C[I, K]", "X=3", "I=3,J=4,K=5"},         // a sum goes in
    {"A[I_X, J] * B[J, K_Y] * D[K_Y, L] -> E[I_X, L]", "X=2,Y=2", "I=5,J=3,K=7,L=2"},
    {"A[Z_X, I, J] * B[Z_X, J, K_Y] -> C[I, Z_X, K_Y]", "X=2,Y=2", "Z=3,I=2,J=4,K=3"},  // a batch
    {"A[I_XY, J] * B[J, K] -> C[I_XY, K]", "X=2,Y=2", "I=3,J=2,K=2"},  // an empty block
};

TEST(TrialTest, PlannedProductsAreTheDenseOnes) {
  for (const TrialCase& c : kCases) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
      ExpectRight(c, dtype, RankKind::kThreads);
    }
  }
  ExpectRight(kCases[3], DType::kF32, RankKind::kProcesses);
  ExpectRight(kCases[7], DType::kBF16, RankKind::kProcesses);
}

// S07: the product of two products, both operands split over both axes; memory starts as NaN.
TEST(TrialTest, AProductOfProductsHasNoGarbage) {
  for (const char* mesh : {"X=2,Y=2", "X=2,Y=3"}) {
    for (const char* dims : {"I=12,J=12,K=12,L=12", "I=7,J=7,K=7,L=7"}) {
      ExpectRight({"A[I_X, J] * B[J, K_Y] * D[K_X, L_Y] -> E[I_X, L_Y]", mesh, dims}, DType::kF32,
                  RankKind::kThreads);
    }
  }
}

// The check is one that can fail: a result with one element changed on one rank is seen, by place.
TEST(DenseCheckTest, SeesOneWrongElement) {
  const TrialCase c{"A[I_X, J] * B[J, K] -> C[I_X, K]", "X=2", "I=4,J=3,K=2"};
  const Asked asked = Ask(c, DType::kF32);
  const Status status = RunRanks(2, RankKind::kThreads, [&](Group& group) -> Status {
    CHORUS_ASSIGN_OR_RETURN(const auto runtime, Runtime::Create(group, asked.mesh, {}));
    const Spec spec = *asked.product.wanted;
    CHORUS_ASSIGN_OR_RETURN(
        ShardedArray result,
        ShardedArray::Generate(*runtime, spec, DType::kF32, asked.sizes, [&](std::int64_t at) {
          double sum = 0;
          for (int j = 0; j < 3; ++j) {
            sum += TrialNumber("A", at / 2 * 3 + j) * TrialNumber("B", j * 2 + at % 2);
          }
          return sum;
        }));
    CHORUS_ASSIGN_OR_RETURN(
        const DenseCheck same,
        CheckAgainstDense(*runtime, asked.product, asked.answer, asked.sizes, result));
    if (!same.right()) return Internal(same.first_wrong);
    if (same.checked != 8 || same.allowed != 0) return Internal("not all elements, exactly");
    if (group.rank() == 1) result.SetElement(3, result.ElementAt(3) + 1);
    CHORUS_ASSIGN_OR_RETURN(
        const DenseCheck other,
        CheckAgainstDense(*runtime, asked.product, asked.answer, asked.sizes, result));
    if (other.wrong != 1 || other.largest_error != 1) return Internal("the error was not seen");
    if (other.first_wrong.find("C[3, 1] on rank 1 is ") != 0) return Internal(other.first_wrong);
    // With room for one element a rank only, the last of the block is the one compared.
    CHORUS_ASSIGN_OR_RETURN(
        const DenseCheck few,
        CheckAgainstDense(*runtime, asked.product, asked.answer, asked.sizes, result, Flops(6)));
    if (few.checked != 2 || few.wrong != 1) return Internal("another choice of elements");
    return OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace chorus
