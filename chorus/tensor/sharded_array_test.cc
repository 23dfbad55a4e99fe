#include "chorus/tensor/sharded_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/tensor/runtime.h"

namespace chorus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PlainArray Counting(const Shape& shape) {
  PlainArray array = Filled(shape, 0);
  std::iota(array.elements.begin(), array.elements.end(), 0.0);
  return array;
}

std::vector<float> Floats(const ShardedArray& array) {
  return {array.data<float>(), array.data<float>() + array.elements()};
}

TEST(ShardedArrayTest, HoldsTheBlocksOfItsRank) {
  const Mesh mesh = *Mesh::Parse("X=2,Y=2");
  const Spec spec = *Spec::Parse("w[D_X, F_Y]");
  const DimSizes sizes = {{"D", 3}, {"F", 5}};  // rows 2 + 1, columns 3 + 2
  ArrayMemory memory;
  const auto rank = [&](std::int64_t r) {
    return Floats(*ShardedArray::FromGlobal(spec, DType::kF32, mesh, sizes, r, memory,
                                            Counting(Shape({3, 5}))));
  };
  EXPECT_THAT(rank(0), ElementsAre(0, 1, 2, 5, 6, 7));
  EXPECT_THAT(rank(1), ElementsAre(3, 4, 8, 9));
  EXPECT_THAT(rank(2), ElementsAre(10, 11, 12));
  EXPECT_THAT(rank(3), ElementsAre(13, 14));
}

TEST(ShardedArrayTest, AScalarIsOnEveryRank) {
  const Mesh mesh = *Mesh::Parse("X=2");
  ArrayMemory memory;
  const auto array = ShardedArray::Generate(*Spec::Parse("loss[]"), DType::kF64, mesh, {}, 1,
                                            memory, [](std::int64_t) { return 2.5; });
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->elements(), 1);
  EXPECT_EQ(*array->data<double>(), 2.5);
  EXPECT_EQ(memory.used(), Bytes(8));
}

TEST(ShardedArrayTest, RefusesWhatItCannotCut) {
  const Mesh mesh = *Mesh::Parse("X=2");
  ArrayMemory memory;
  const auto error = [&](const char* spec, DType dtype, const DimSizes& sizes) {
    return ShardedArray::FromGlobal(*Spec::Parse(spec), dtype, mesh, sizes, 0, memory,
                                    Counting(Shape({4})))
        .status()
        .message();
  };
  EXPECT_EQ(error("w[D]", DType::kF32, {{"D", 5}}),
            "w[D] is [5] in all, but the array given is [4]");
  EXPECT_THAT(error("w[D]{U_X}", DType::kF32, {{"D", 4}}), HasSubstr("is a sum to be done over X"));
  EXPECT_THAT(error("w[D]", DType::kF16, {{"D", 4}}), HasSubstr("cannot be f16"));
  EXPECT_FALSE(
      ShardedArray::Create(*Spec::Parse("w[D_Z]"), DType::kF32, mesh, {{"D", 4}}, 0, memory).ok());
  EXPECT_FALSE(
      ShardedArray::Create(*Spec::Parse("w[D]"), DType::kF32, mesh, {{"E", 4}}, 0, memory).ok());
}

// Cut on every rank, joined again: the whole array, under every layout, even and uneven.
TEST(ShardedArrayTest, ToGlobalIsTheInverseOfCutting) {
  const PlainArray whole = Counting(Shape({5, 7}));
  const DimSizes sizes = {{"I", 5}, {"J", 7}};
  for (const char* text : {"a[I, J]", "a[I_X, J]", "a[I, J_Y]", "a[I_X, J_Y]", "a[I_YX, J]",
                           "a[I, J_XY]", "a[I_Y, J_X]"}) {
    const Spec spec = *Spec::Parse(text);
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kI32}) {
      const Status status = RunRanks(6, RankKind::kThreads, [&](Group& group) {
        CHORUS_ASSIGN_OR_RETURN(const auto runtime,
                                Runtime::Create(group, *Mesh::Parse("X=2,Y=3"), {}));
        CHORUS_ASSIGN_OR_RETURN(const ShardedArray array,
                                ShardedArray::FromGlobal(spec, dtype, runtime->mesh(), sizes,
                                                         group.rank(), runtime->memory(), whole));
        CHORUS_ASSIGN_OR_RETURN(const PlainArray back,
                                ToGlobal(array, group, runtime->mesh(), sizes));
        return back == whole ? OkStatus() : Internal("another array came back");
      });
      EXPECT_TRUE(status.ok()) << text << ": " << status.message();
    }
  }
}

// A partial array is the sum of its parts; replicas count once.
TEST(ShardedArrayTest, ToGlobalAddsThePartsOfASum) {
  const Status status = RunRanks(4, RankKind::kThreads, [&](Group& group) {
    const Mesh mesh = *Mesh::Parse("X=2,Y=2");
    ArrayMemory memory;
    CHORUS_ASSIGN_OR_RETURN(ShardedArray part,
                            ShardedArray::Create(*Spec::Parse("a[I]{U_Y}"), DType::kF64, mesh,
                                                 {{"I", 1}}, group.rank(), memory));
    *part.data<double>() = group.rank() % 2 == 0 ? 10 : 1;  // by the coordinate along Y
    CHORUS_ASSIGN_OR_RETURN(const PlainArray sum, ToGlobal(part, group, mesh, {{"I", 1}}));
    return sum.elements[0] == 11 ? OkStatus() : Internal("the sum is not 11");
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

// What a parameter starts from does not depend on who holds it.
TEST(ShardedArrayTest, GeneratedValuesAreThoseOfTheGlobalPosition) {
  const RandomStream stream(1, "w");
  const auto normal = [&](std::int64_t at) {
    return stream.Normal(static_cast<std::uint64_t>(at));
  };
  const DimSizes sizes = {{"D", 3}, {"F", 4}};
  ArrayMemory memory;
  const ShardedArray all = *ShardedArray::Generate(*Spec::Parse("w[D, F]"), DType::kF32, Mesh(),
                                                   sizes, 0, memory, normal);
  const ShardedArray part = *ShardedArray::Generate(*Spec::Parse("w[D, F_X]"), DType::kF32,
                                                    *Mesh::Parse("X=2"), sizes, 1, memory, normal);
  for (std::int64_t d = 0; d < 3; ++d) {
    for (std::int64_t f = 0; f < 2; ++f) {
      EXPECT_EQ(part.data<float>()[d * 2 + f], all.data<float>()[d * 4 + 2 + f]);
    }
  }
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
