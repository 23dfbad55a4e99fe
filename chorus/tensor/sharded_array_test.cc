#include "chorus/tensor/sharded_array.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/probe/memory.h"
#include "chorus/tensor/runtime.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;

PlainArray Counting(const Shape& shape) {
  PlainArray array = Filled(shape, 0);
  std::iota(array.elements.begin(), array.elements.end(), 0.0);
  return array;
}

std::vector<float> Floats(const ShardedArray& array) {
  return {array.data<float>(), array.data<float>() + array.elements()};
}

// Runs `function` on every rank of the mesh, over threads.
void OnEachRank(const std::string& mesh_text, const std::function<Status(Runtime&)>& function) {
  const Mesh mesh = *Mesh::Parse(mesh_text);
  const Status status =
      RunRanks(static_cast<int>(mesh.size()), RankKind::kThreads, [&](Group& group) -> Status {
        CHORUS_ASSIGN_OR_RETURN(const auto runtime, Runtime::Create(group, mesh, {}));
        return function(*runtime);
      });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(ShardedArrayTest, HoldsTheBlocksOfItsRank) {
  const std::vector<std::vector<float>> want = {
      {0, 1, 2, 5, 6, 7}, {3, 4, 8, 9}, {10, 11, 12}, {13, 14}};
  OnEachRank("X=2,Y=2", [&](Runtime& runtime) -> Status {  // rows 2 + 1, columns 3 + 2
    CHORUS_ASSIGN_OR_RETURN(
        const ShardedArray array,
        ShardedArray::FromGlobal(runtime, *Spec::Parse("w[D_X, F_Y]"), DType::kF32,
                                 {{"D", 3}, {"F", 5}}, Counting(Shape({3, 5}))));
    if (array.global_shape() != Shape({3, 5})) return Internal(array.global_shape().ToString());
    return Floats(array) == want[runtime.rank()] ? OkStatus() : Internal("other elements");
  });
}

TEST(ShardedArrayTest, AScalarIsOnEveryRank) {
  OnEachRank("X=2", [](Runtime& runtime) -> Status {
    CHORUS_ASSIGN_OR_RETURN(
        const ShardedArray array,
        ShardedArray::Generate(runtime, *Spec::Parse("loss[]"), DType::kF64, {{"unused", 3}},
                               [](std::int64_t) { return 2.5; }));
    if (!array.sizes().empty()) return Internal("a size of another array");
    if (array.elements() != 1 || *array.data<double>() != 2.5) return Internal("no scalar");
    return runtime.memory().used() == Bytes(8) ? OkStatus() : Internal("other memory");
  });
}

TEST(ShardedArrayTest, RefusesWhatItCannotCut) {
  OnEachRank("X=2", [](Runtime& runtime) -> Status {
    const auto error = [&](const char* spec, DType dtype, const DimSizes& sizes) {
      return ShardedArray::FromGlobal(runtime, *Spec::Parse(spec), dtype, sizes,
                                      Counting(Shape({4})))
          .status()
          .message();
    };
    EXPECT_EQ(error("w[D]", DType::kF32, {{"D", 5}}),
              "w[D] is [5] in all, but the array given is [4]");
    EXPECT_THAT(error("w[D]{U_X}", DType::kF32, {{"D", 4}}),
                HasSubstr("is a sum to be done over X"));
    EXPECT_THAT(error("w[D]", DType::kF16, {{"D", 4}}), HasSubstr("cannot be f16"));
    EXPECT_FALSE(
        ShardedArray::Create(runtime, *Spec::Parse("w[D_Z]"), DType::kF32, {{"D", 4}}).ok());
    EXPECT_FALSE(ShardedArray::Create(runtime, *Spec::Parse("w[D]"), DType::kF32, {{"E", 4}}).ok());
    return OkStatus();
  });
}

// Cut on every rank, joined again: the whole array, under every layout, even and uneven.
TEST(ShardedArrayTest, ToGlobalIsTheInverseOfCutting) {
  const PlainArray whole = Counting(Shape({5, 7}));
  for (const char* text : {"a[I, J]", "a[I_X, J]", "a[I, J_Y]", "a[I_X, J_Y]", "a[I_YX, J]",
                           "a[I, J_XY]", "a[I_Y, J_X]"}) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kI32}) {
      SCOPED_TRACE(text);
      OnEachRank("X=2,Y=3", [&](Runtime& runtime) -> Status {
        CHORUS_ASSIGN_OR_RETURN(const ShardedArray array,
                                ShardedArray::FromGlobal(runtime, *Spec::Parse(text), dtype,
                                                         {{"I", 5}, {"J", 7}}, whole));
        CHORUS_ASSIGN_OR_RETURN(const PlainArray back, ToGlobal(array));
        return back == whole ? OkStatus() : Internal("another array came back");
      });
    }
  }
}

// A partial array is the sum of its parts; replicas count once.
TEST(ShardedArrayTest, ToGlobalAddsThePartsOfASum) {
  OnEachRank("X=2,Y=2", [](Runtime& runtime) -> Status {
    const std::vector<double> part = {runtime.rank() % 2 == 0 ? 10.0 : 1.0};  // along Y
    CHORUS_ASSIGN_OR_RETURN(
        const ShardedArray array,
        ShardedArray::FromLocal(runtime, *Spec::Parse("a[I]{U_Y}"), {{"I", 1}}, part));
    CHORUS_ASSIGN_OR_RETURN(const PlainArray sum, ToGlobal(array));
    return sum.elements[0] == 11 ? OkStatus() : Internal("the sum is not 11");
  });
}

// What a parameter starts from does not depend on who holds it.
TEST(ShardedArrayTest, GeneratedValuesAreThoseOfTheGlobalPosition) {
  const RandomStream stream(1, "w");
  const auto normal = [&](std::int64_t at) {
    return stream.Normal(static_cast<std::uint64_t>(at));
  };
  OnEachRank("X=2", [&](Runtime& runtime) -> Status {
    const DimSizes sizes = {{"D", 3}, {"F", 4}};
    CHORUS_ASSIGN_OR_RETURN(
        const ShardedArray all,
        ShardedArray::Generate(runtime, *Spec::Parse("w[D, F]"), DType::kF32, sizes, normal));
    CHORUS_ASSIGN_OR_RETURN(
        const ShardedArray part,
        ShardedArray::Generate(runtime, *Spec::Parse("w[D, F_X]"), DType::kF32, sizes, normal));
    for (std::int64_t d = 0; d < 3; ++d) {
      for (std::int64_t f = 0; f < 2; ++f) {
        if (part.ElementAt(d * 2 + f) != all.ElementAt(d * 4 + 2 * runtime.rank() + f)) {
          return Internal("the layout changed a number");
        }
      }
    }
    return OkStatus();
  });
}

// S03: parts of widths of one's own choice are refused on every rank, with the widths expected.
TEST(ShardedArrayTest, LocalPartsHaveTheSizesOfTheirBlocks) {
  OnEachRank("X=3", [](Runtime& runtime) -> Status {
    const std::vector<std::size_t> own = {1, 4, 2};
    const std::vector<float> part(own[runtime.rank()], 0);
    const Status refused =
        ShardedArray::FromLocal(runtime, *Spec::Parse("a[I_X]"), {{"I", 7}}, part).status();
    const auto why = [](int rank, int elements, const char* right) {
      return fmt::format(
          "the part of rank {} of a[I_X] has {} elements; I=7 makes it {}, and the lengths of "
          "parts "
          "are I 3, 2, 2",
          rank, elements, right);
    };
    const std::vector<std::string> wants = {
        why(0, 1, "[3]"), why(1, 4, "[2]"),
        "rank 0 cannot do FromLocal of f32 a[I_X] with I=7: " + why(0, 1, "[3]")};
    const std::string& want = wants[runtime.rank()];
    if (refused.message() != want) return Internal(refused.message());
    const std::vector<std::vector<float>> right = {{0, 1, 2}, {3, 4}, {5, 6}};
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray array,
                            ShardedArray::FromLocal(runtime, *Spec::Parse("a[I_X]"), {{"I", 7}},
                                                    right[runtime.rank()]));
    CHORUS_ASSIGN_OR_RETURN(const PlainArray whole, ToGlobal(array));
    return whole == Counting(Shape({7})) ? OkStatus() : Internal("another array");
  });
}

TEST(ShardedArrayTest, LocalPartsAreOfOneDType) {
  OnEachRank("X=2", [](Runtime& runtime) -> Status {
    const std::vector<float> narrow(2);
    const std::vector<double> wide(2);
    const Spec spec = *Spec::Parse("a[I_X]");
    const Status refused = runtime.rank() == 0
                               ? ShardedArray::FromLocal(runtime, spec, {{"I", 4}}, narrow).status()
                               : ShardedArray::FromLocal(runtime, spec, {{"I", 4}}, wide).status();
    return refused.message() ==
                   "rank 0 asks for FromLocal of f32 a[I_X] with I=4, but rank 1 for FromLocal of "
                   "f64 a[I_X] with I=4; every rank must ask for the same"
               ? OkStatus()
               : Internal(refused.message());
  });
}

// Sizes that no array has are refused by name; nothing is asked of the machine.
TEST(ShardedArrayTest, RefusesSizesThatCannotBe) {
  OnEachRank("X=2", [](Runtime& runtime) -> Status {
    const auto error = [&](const DimSizes& sizes) {
      return ShardedArray::Create(runtime, *Spec::Parse("w[D_X, F]"), DType::kF32, sizes).status();
    };
    EXPECT_EQ(error({{"D", -3}, {"F", 2}}).message(),
              "dimension D of w[D_X, F] has the size -3; give 0 or more");
    EXPECT_EQ(error({{"D", std::int64_t{1} << 40}, {"F", std::int64_t{1} << 40}}).message(),
              "w[D_X, F] with D=1099511627776,F=1099511627776 has more than 2^58 elements; give "
              "smaller sizes");
    const Status large = error({{"D", std::int64_t{1} << 40}, {"F", 4}});
    EXPECT_EQ(large.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(large.message(),
                testing::StartsWith("f32 w[D_X, F] with D=1099511627776,F=4, of which this rank "
                                    "holds [549755813888, 4]: there is no memory for 8796093022208 "
                                    "bytes more (8 TiB): the arrays of this rank hold 0 B, and the "
                                    "host has "));
    EXPECT_EQ(runtime.memory().used(), Bytes(0));
    return OkStatus();
  });
}

// A rank that cannot make its part says why, and the others hear of it.
TEST(ShardedArrayTest, APartThatCannotBeMadeIsHeardOfOnAllRanks) {
  OnEachRank("X=2", [](Runtime& runtime) -> Status {
    const std::vector<float> part(2);
    const DimSizes sizes = {{"I", runtime.rank() == 1 ? -1 : 4}};
    const Status refused =
        ShardedArray::FromLocal(runtime, *Spec::Parse("a[I_X]"), sizes, part).status();
    const std::string want =
        "rank 0 asks for FromLocal of f32 a[I_X] with I=4, but rank 1 for FromLocal of f32 a[I_X] "
        "with I=-1; every rank must ask for the same";
    const std::string why =
        "; this one could not do it: dimension I of a[I_X] has the size -1; give 0 or more";
    return refused.message() == (runtime.rank() == 1 ? want + why : want)
               ? OkStatus()
               : Internal(refused.message());
  });
}

// The whole of an array may be too large where each rank's part is not. It is refused before
// anything of it is read, so the part needs no memory here.
TEST(ShardedArrayTest, AWholeBeyondTheMemoryIsRefused) {
  OnEachRank("X=2", [](Runtime& runtime) -> Status {
    const std::int64_t many = HostMemory().value() / 8 + 1;
    const ShardedArray array(runtime, *Spec::Parse("w[D_X]"), DType::kBF16, {{"D", many}},
                             ArrayMemory::Piece());
    const Status refused = ToGlobal(array).status();
    EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(refused.message(), HasSubstr("the whole of w[D_X] with D="));
    return OkStatus();
  });
}

TEST(RuntimeTest, TheMeshHasAsManyRanksAsTheWorld) {
  const Status status = RunRanks(2, RankKind::kThreads, [&](Group& group) {
    const Status refused = Runtime::Create(group, *Mesh::Parse("X=2,Y=2"), {}).status();
    const std::string want = "the mesh X=2,Y=2 has 4 ranks, but 2 were started; they must be equal";
    return refused.message() == want ? OkStatus() : Internal(refused.message());
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(RuntimeTest, GroupsHaveTheOrderOfTheirAxes) {
  const Status status = RunRanks(6, RankKind::kThreads, [&](Group& group) -> Status {
    CHORUS_ASSIGN_OR_RETURN(const auto runtime,
                            Runtime::Create(group, *Mesh::Parse("X=2,Y=3"), {}));
    for (const AxisNames& axes : {AxisNames{"X"}, AxisNames{"Y"}, AxisNames{"Y", "X"}}) {
      CHORUS_ASSIGN_OR_RETURN(Group * over, runtime->GroupOver(axes));
      const std::vector<std::int64_t> want = runtime->mesh().Group(group.rank(), axes);
      const std::vector<std::int64_t> mine = {group.rank()};
      std::vector<std::int64_t> got(want.size());
      CHORUS_RETURN_IF_ERROR(over->AllGather(mine, got));
      if (got != want) return Internal("other members over " + JoinAxes(axes));
      CHORUS_ASSIGN_OR_RETURN(Group * again, runtime->GroupOver(axes));
      if (again != over) return Internal("a second group over " + JoinAxes(axes));
    }
    return OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace chorus
