#include "chorus/tensor/operations.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/tensor/executable.h"

namespace chorus {
namespace {

Spec Lay(const std::string& text) { return *Spec::Parse(text); }

// Whole numbers, so that results are exact.
double Whole(std::string_view name, std::int64_t at) {
  return static_cast<double>(RandomStream(1, name).Below(9, 0, static_cast<std::uint64_t>(at))) - 4;
}

Result<ShardedArray> Numbers(Runtime& runtime, const Spec& spec, const DimSizes& sizes,
                             DType dtype = DType::kF32) {
  return ShardedArray::Generate(runtime, spec, dtype, sizes,
                                [&](std::int64_t at) { return Whole(spec.name(), at); });
}

// Runs on threads, so without oneDNN, in which the thread sanitizer sees races that are none.
// Nothing of the memory is readable before it is written.
template <typename Function>
void OnMesh(const std::string& mesh_text, Function function) {
  const Mesh mesh = *Mesh::Parse(mesh_text);
  const Status status =
      RunRanks(static_cast<int>(mesh.size()), RankKind::kThreads, [&](Group& group) -> Status {
        CHORUS_ASSIGN_OR_RETURN(
            const auto runtime,
            Runtime::Create(group, mesh, {.kernels = KernelSet::kPlain, .poison_memory = true}));
        return function(*runtime);
      });
  EXPECT_TRUE(status.ok()) << "on " << mesh_text << ": " << status.message();
}

Status ExpectGlobal(const ShardedArray& array, const std::string& spec,
                    const std::vector<double>& want) {
  if (array.spec().ToString() != spec) return Internal("it lies as " + array.spec().ToString());
  CHORUS_ASSIGN_OR_RETURN(const PlainArray got, ToGlobal(array));
  if (got.elements == want) return OkStatus();
  return Internal(
      fmt::format("{} is {} and not {}", spec, fmt::join(got.elements, " "), fmt::join(want, " ")));
}

// C[i, k] = sum over j, of matrices (i, j) and (j, k) of Whole numbers.
std::vector<double> DenseProduct(std::int64_t m, std::int64_t k, std::int64_t n) {
  std::vector<double> c(static_cast<std::size_t>(m * n), 0);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t l = 0; l < n; ++l) {
      for (std::int64_t j = 0; j < k; ++j) {
        c[static_cast<std::size_t>(i * n + l)] += Whole("A", i * k + j) * Whole("B", j * n + l);
      }
    }
  }
  return c;
}

TEST(OperationsTest, MatmulIsTheDenseProductUnderEveryLayout) {
  for (const char* a : {"A[I, J]", "A[I_X, J]", "A[I, J_X]", "A[I_Y, J_X]", "A[I_XY, J]"}) {
    for (const char* b : {"B[J, K]", "B[J_X, K]", "B[J, K_X]", "B[J_Y, K_X]"}) {
      OnMesh("X=2,Y=2", [&](Runtime& runtime) -> Status {
        const DimSizes sizes = {{"I", 5}, {"J", 3}, {"K", 7}};
        CHORUS_ASSIGN_OR_RETURN(const ShardedArray left, Numbers(runtime, Lay(a), sizes));
        CHORUS_ASSIGN_OR_RETURN(const ShardedArray right, Numbers(runtime, Lay(b), sizes));
        for (const char* c : {"C[I, K]", "C[I_X, K_Y]"}) {
          CHORUS_ASSIGN_OR_RETURN(const ShardedArray product, Matmul(left, right, Lay(c)));
          CHORUS_RETURN_IF_ERROR(ExpectGlobal(product, c, DenseProduct(5, 3, 7)));
        }
        return OkStatus();
      });
    }
  }
}

// The same question is planned once; the second time runs what was kept.
TEST(OperationsTest, AQuestionIsPlannedOnce) {
  OnMesh("X=2", [](Runtime& runtime) -> Status {
    const DimSizes sizes = {{"I", 4}, {"J", 3}, {"K", 2}};
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray a, Numbers(runtime, Lay("A[I_X, J]"), sizes));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray b, Numbers(runtime, Lay("B[J_X, K]"), sizes));
    CHORUS_RETURN_IF_ERROR(Matmul(a, b, Lay("C[I_X, K]")).status());
    const std::size_t programs = runtime.kept_programs();
    const Bytes used = runtime.memory().used();
    for (int i = 0; i < 3; ++i) {
      CHORUS_ASSIGN_OR_RETURN(const ShardedArray c, Matmul(a, b, Lay("C[I_X, K]")));
      CHORUS_RETURN_IF_ERROR(ExpectGlobal(c, "C[I_X, K]", DenseProduct(4, 3, 2)));
    }
    if (runtime.kept_programs() != programs) return Internal("planned again");
    return runtime.memory().used() == used ? OkStatus() : Internal("memory was left behind");
  });
}

TEST(OperationsTest, AProductInNamesAndAChainAreMultiplied) {
  OnMesh("X=2,Y=2", [](Runtime& runtime) -> Status {
    const DimSizes sizes = {{"I", 5}, {"J", 3}, {"K", 7}, {"L", 2}};
    CHORUS_ASSIGN_OR_RETURN(const Product product,
                            ParseProduct("A[I_X, J] * B[J, K_Y] * D[K_Y, L] -> E[I_X, L]"));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray a, Numbers(runtime, Lay("A[I_X, J]"), sizes));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray b, Numbers(runtime, Lay("B[J, K_Y]"), sizes));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray d, Numbers(runtime, Lay("D[K_Y, L]"), sizes));
    const std::vector<double> ab = DenseProduct(5, 3, 7);
    std::vector<double> want(10, 0);
    for (int i = 0; i < 5; ++i) {
      for (int l = 0; l < 2; ++l) {
        for (int k = 0; k < 7; ++k) want[i * 2 + l] += ab[i * 7 + k] * Whole("D", k * 2 + l);
      }
    }
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray e, Multiply(product, {&a, &b, &d}));
    CHORUS_RETURN_IF_ERROR(ExpectGlobal(e, "E[I_X, L]", want));
    if (Multiply(product, {&a, &b}).status().message() !=
        "A[I_X, J] * B[J, K_Y] * D[K_Y, L] -> E[I_X, L] has 3 operands, but 2 arrays were given") {
      return Internal("two operands were taken for three");
    }
    const std::string other = Multiply(product, {&b, &a, &d}).status().message();
    return other.find("operand 1 of A[I_X, J] * B[J, K_Y]") == 0 ? OkStatus() : Internal(other);
  });
}

TEST(OperationsTest, ReshardKeepsTheArray) {
  for (const char* from : {"A[I_X, J]", "A[I, J_YX]", "A[I_XY, J]", "A[I_Y, J_X]"}) {
    for (const char* to : {"B[I, J]", "B[I_X, J_Y]", "B[I_YX, J]", "B[I_XY, J]", "B[I, J_X]"}) {
      OnMesh("X=2,Y=3", [&](Runtime& runtime) -> Status {
        CHORUS_ASSIGN_OR_RETURN(const ShardedArray array,
                                Numbers(runtime, Lay(from), {{"I", 7}, {"J", 5}}));
        CHORUS_ASSIGN_OR_RETURN(const PlainArray want, ToGlobal(array));
        CHORUS_ASSIGN_OR_RETURN(const ShardedArray moved, Reshard(array, Lay(to)));
        return ExpectGlobal(moved, to, want.elements);
      });
    }
  }
}

// S03: an array of parts that ranks bring is multiplied as the whole that it is.
TEST(OperationsTest, PartsThatRanksBringAreMultiplied) {
  OnMesh("X=3", [](Runtime& runtime) -> Status {
    const std::vector<std::vector<float>> parts = {{0, 1, 2}, {3, 4}, {5, 6}};
    const DimSizes sizes = {{"I", 7}, {"K", 2}};
    CHORUS_ASSIGN_OR_RETURN(
        const ShardedArray a,
        ShardedArray::FromLocal(runtime, Lay("A[I_X]"), {{"I", 7}},
                                parts[static_cast<std::size_t>(runtime.rank())]));
    CHORUS_ASSIGN_OR_RETURN(
        const ShardedArray b,
        ShardedArray::Generate(runtime, Lay("B[I, K]"), DType::kF32, sizes, [](std::int64_t at) {
          const std::int64_t row = at / 2;
          return at % 2 == 0 ? 1.0 : static_cast<double>(row);
        }));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray c, Matmul(a, b, Lay("C[K]")));
    return ExpectGlobal(c, "C[K]", {21, 91});  // the sum, and the sum of squares
  });
}

// S06: partials [1, 5] and [6, -3]: the array is [7, 2], its largest element 7 (of the parts it
// would be 6, or 11 added), its norm sqrt(53).
TEST(OperationsTest, WhatIsNotLinearSumsFirst) {
  OnMesh("X=2", [](Runtime& runtime) -> Status {
    const std::vector<float> part =
        runtime.rank() == 0 ? std::vector<float>{1, 5} : std::vector<float>{6, -3};
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray c,
                            ShardedArray::FromLocal(runtime, Lay("C[I]{U_X}"), {{"I", 2}}, part));
    CHORUS_RETURN_IF_ERROR(ExpectGlobal(c, "C[I]{U_X}", {7, 2}));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray max, Max(c, {"I"}));
    CHORUS_RETURN_IF_ERROR(ExpectGlobal(max, "C[]", {7}));
    CHORUS_ASSIGN_OR_RETURN(const double norm, Norm(c));
    if (norm != std::sqrt(53.0)) return Internal(fmt::format("norm {}", norm));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray gelu, Gelu(c));
    CHORUS_ASSIGN_OR_RETURN(const PlainArray bent, ToGlobal(gelu));
    if (std::abs(bent.elements[0] - Gelu(7.0)) > 1e-6) return Internal("gelu of a part");
    // What is linear keeps the sum.
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray twice, Scale(2, c));
    CHORUS_RETURN_IF_ERROR(ExpectGlobal(twice, "C[I]{U_X}", {14, 4}));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray sum, Sum(c, {"I"}));
    CHORUS_RETURN_IF_ERROR(ExpectGlobal(sum, "C[]{U_X}", {9}));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray both, Add(c, twice));
    CHORUS_RETURN_IF_ERROR(ExpectGlobal(both, "sum[I]{U_X}", {21, 6}));
    const std::string refused = Apply(c, [](double x) { return std::abs(x); }).status().message();
    const std::string want =
        "C[I]{U_X} is a sum to be done over X, and a function of a sum is not the sum of the "
        "function; do it first: Reshard(array, C[I])";
    return refused == want ? OkStatus() : Internal(refused);
  });
}

// Adding 1e-6 once, not once a rank; a whole addend to a sum to be done.
TEST(OperationsTest, AddMeetsSumsAndWholes) {
  OnMesh("X=2,Y=2", [](Runtime& runtime) -> Status {
    const int row = runtime.rank() / 2;
    const std::vector<float> part = {static_cast<float>(row + 1)};  // 1 + 2 over X
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray sum,
                            ShardedArray::FromLocal(runtime, Lay("s[I]{U_X}"), {{"I", 1}}, part));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray one,
                            ShardedArray::Generate(runtime, Lay("o[I]"), DType::kF32, {{"I", 1}},
                                                   [](std::int64_t) { return 1.0; }));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray both, Add(sum, one, Lay("t[I]")));
    return ExpectGlobal(both, "t[I]", {4});
  });
}

TEST(OperationsTest, ReductionsKnowWhatIsSplitAndWhatIsCopied) {
  for (const char* spec : {"A[I, J]", "A[I_X, J]", "A[I, J_X]", "A[I_X, J_Y]", "A[I, J_YX]"}) {
    OnMesh("X=2,Y=2", [&](Runtime& runtime) -> Status {
      CHORUS_ASSIGN_OR_RETURN(const ShardedArray array,
                              Numbers(runtime, Lay(spec), {{"I", 3}, {"J", 5}}));
      std::vector<double> rows(3, 0), most(5, -9);
      double squares = 0;
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 5; ++j) {
          const double x = Whole("A", i * 5 + j);
          rows[i] += x;
          most[j] = std::max(most[j], x);
          squares += x * x;
        }
      }
      CHORUS_ASSIGN_OR_RETURN(const ShardedArray sum, Sum(array, {"J"}, Lay("r[I]")));
      CHORUS_RETURN_IF_ERROR(ExpectGlobal(sum, "r[I]", rows));
      CHORUS_ASSIGN_OR_RETURN(const ShardedArray all, Sum(array, {"J", "I"}, Lay("s[]")));
      CHORUS_RETURN_IF_ERROR(ExpectGlobal(all, "s[]", {rows[0] + rows[1] + rows[2]}));
      CHORUS_ASSIGN_OR_RETURN(const ShardedArray largest, Max(array, {"I"}));
      CHORUS_ASSIGN_OR_RETURN(const PlainArray got, ToGlobal(largest));
      if (got.elements != most) return Internal("another maximum");
      CHORUS_ASSIGN_OR_RETURN(const double norm, Norm(array));
      if (norm != std::sqrt(squares)) return Internal("another norm");
      const std::string refused = Sum(array, {"K"}).status().message();
      return refused == std::string(spec) + " has no dimension K that could be reduced"
                 ? OkStatus()
                 : Internal(refused);
    });
  }
}

TEST(OperationsTest, MaxHasNaNWinAndEmptyBlocksLose) {
  OnMesh("X=3", [](Runtime& runtime) -> Status {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double odd : {3.0, nan}) {  // two elements over three ranks: one has none
      CHORUS_ASSIGN_OR_RETURN(
          const ShardedArray a,
          ShardedArray::Generate(runtime, Lay("A[I_X]"), DType::kF64, {{"I", 2}},
                                 [&](std::int64_t at) { return at == 0 ? odd : 2; }));
      CHORUS_ASSIGN_OR_RETURN(const ShardedArray max, Max(a, {"I"}));
      const double got = max.ElementAt(0);
      if (std::isnan(odd) ? !std::isnan(got) : got != odd) return Internal(fmt::format("{}", got));
    }
    return OkStatus();
  });
}

TEST(OperationsTest, BF16IsSummedInF32) {
  OnMesh("X=2", [](Runtime& runtime) -> Status {
    const DimSizes sizes = {{"I", 1}, {"J", 1000}, {"K", 1}};
    const auto one = [](std::int64_t) { return 1.0; };
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray a, ShardedArray::Generate(runtime, Lay("A[I, J_X]"),
                                                                         DType::kBF16, sizes, one));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray b, ShardedArray::Generate(runtime, Lay("B[J_X, K]"),
                                                                         DType::kBF16, sizes, one));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray c, Matmul(a, b, Lay("C[I, K]")));
    return ExpectGlobal(c, "C[I, K]", {1000});  // a sum in bf16 stops at 256
  });
}

TEST(OperationsTest, OperandsThatDoNotMeetAreRefused) {
  OnMesh("X=2", [](Runtime& runtime) -> Status {
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray a,
                            Numbers(runtime, Lay("A[I, J]"), {{"I", 2}, {"J", 3}}));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray b,
                            Numbers(runtime, Lay("B[J, K]"), {{"J", 4}, {"K", 3}}));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray wide,
                            Numbers(runtime, Lay("B[J, K]"), {{"J", 3}, {"K", 3}}, DType::kF64));
    const std::string sizes = Matmul(a, b, Lay("C[I, K]")).status().message();
    if (sizes != "dimension J is 4 in B[J, K], but 3 in another operand") return Internal(sizes);
    const std::string dtypes = Matmul(a, wide, Lay("C[I, K]")).status().message();
    if (dtypes != "A[I, J] is f32, but B[J, K] is f64; convert one of them")
      return Internal(dtypes);
    return Reshard(a, Lay("A[I]")).ok() ? Internal("a dimension was lost") : OkStatus();
  });
}

// Each rank hears what the other asked for, at once, and both can go on. Where one of them would
// not have moved anything, too.
TEST(OperationsTest, RanksThatAskForDifferentThingsHearOfBoth) {
  OnMesh("X=2", [](Runtime& runtime) -> Status {
    const DimSizes sizes = {{"I", 4}, {"J", 3}, {"K", 2}};
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray a, Numbers(runtime, Lay("A[I_X, J]"), sizes));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray b, Numbers(runtime, Lay("B[J_X, K]"), sizes));
    const bool first = runtime.rank() == 0;
    const auto expect = [&](const Status& status, const char* ask, const char* other) {
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
      EXPECT_EQ(status.message(), fmt::format("rank 0 asks for {}, but rank 1 for {}; every rank "
                                              "must ask for the same",
                                              ask, other));
    };
    expect(Matmul(a, b, Lay(first ? "C[I_X, K]" : "C[I, K]")).status(),
           "contract(A[I_X, J], B[J_X, K]) -> C[I_X, K] in f32 with I=4,J=3,K=2",
           "contract(A[I_X, J], B[J_X, K]) -> C[I, K] in f32 with I=4,J=3,K=2");
    for (int again = 0; again < 2; ++again) {  // what was refused is not kept as agreed
      expect(Reshard(a, Lay(first ? "A[I_X, J]" : "A[I, J]")).status(),
             "reshard(A[I_X, J]) -> A[I_X, J] in f32 with I=4,J=3",
             "reshard(A[I_X, J]) -> A[I, J] in f32 with I=4,J=3");
    }
    expect(Max(a, {first ? "I" : "J"}).status(), "max(A[I_X, J]) over I in f32 with I=4,J=3",
           "max(A[I_X, J]) over J in f32 with I=4,J=3");
    expect(first ? Norm(a).status() : Gelu(a).status(),
           "norm(A[I_X, J]) -> a number in f32 with I=4,J=3",
           "gelu(A[I_X, J]) -> gelu[I_X, J] in f32 with I=4,J=3");
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray c, Matmul(a, b, Lay("C[I_X, K]")));
    return ExpectGlobal(c, "C[I_X, K]", DenseProduct(4, 3, 2));
  });
}

// A result that no host holds is refused, by its size, and what follows works.
TEST(OperationsTest, AResultBeyondTheMemoryIsRefused) {
  OnMesh("X=2", [](Runtime& runtime) -> Status {
    const DimSizes sizes = {{"I", 1 << 22}, {"K", std::int64_t{1} << 23}};
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray a,
                            ShardedArray::Create(runtime, Lay("A[I_X]"), DType::kBF16, sizes));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray b,
                            ShardedArray::Create(runtime, Lay("B[K_X]"), DType::kBF16, sizes));
    const Status refused = Matmul(a, b, Lay("C[I_X, K]")).status();
    if (refused.code() != StatusCode::kResourceExhausted) return Internal(refused.message());
    EXPECT_THAT(refused.message(), testing::HasSubstr("C[I_X, K]"));
    EXPECT_THAT(refused.message(),
                testing::HasSubstr("there is no memory for 35184388866048 bytes more (32 TiB)"));
    return Norm(a).status();
  });
}

// Whole numbers are places in a vocabulary: they are moved, not reckoned with.
TEST(OperationsTest, WholeNumbersAreMovedAlone) {
  OnMesh("X=2", [](Runtime& runtime) -> Status {
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray a,
                            Numbers(runtime, Lay("A[I_X]"), {{"I", 5}}, DType::kI32));
    const Status refused[] = {Sum(a, {"I"}).status(),
                              Max(a, {"I"}).status(),
                              Norm(a).status(),
                              Scale(2, a).status(),
                              Add(a, a).status(),
                              Gelu(a).status(),
                              Apply(a, [](double x) { return x; }).status()};
    for (const Status& status : refused) {
      EXPECT_EQ(status.code(), StatusCode::kUnsupported);
      EXPECT_EQ(status.message(), "A[I_X] is i32; operations compute f32, f64 and bf16");
    }
    CHORUS_ASSIGN_OR_RETURN(const PlainArray want, ToGlobal(a));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray moved, Reshard(a, Lay("A[I]")));
    return ExpectGlobal(moved, "A[I]", want.elements);
  });
}

}  // namespace
}  // namespace chorus
