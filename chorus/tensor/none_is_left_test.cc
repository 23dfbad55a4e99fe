// No rank is left waiting for one that cannot go on: each hears of it at once, and the runtime goes
// on, whatever it was that only one of them could not do.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "chorus/base/test_path_test.h"
#include "chorus/collective/join.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/tensor/executable.h"
#include "chorus/tensor/npy.h"
#include "chorus/tensor/operations.h"

namespace chorus {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kDeadline(20);

// Ranks of threads, each with `memory` of its own; a test that took the deadline fails.
void OnTwoRanks(const std::array<Bytes, 2>& memory,
                const std::function<Status(Runtime&)>& function) {
  JoinOptions options;
  options.timeout = kDeadline;
  const auto begin = std::chrono::steady_clock::now();
  const Status status = RunRanks(
      2, RankKind::kThreads,
      [&](Group& group) -> Status {
        RuntimeOptions of_rank{.kernels = KernelSet::kPlain, .poison_memory = true};
        of_rank.memory = memory[static_cast<std::size_t>(group.rank())];
        CHORUS_ASSIGN_OR_RETURN(const auto runtime,
                                Runtime::Create(group, *Mesh::Parse("X=2"), of_rank));
        return function(*runtime);
      },
      options);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kDeadline);
}

constexpr std::array<Bytes, 2> kAmple = {Bytes(1 << 20), Bytes(1 << 20)};

Result<ShardedArray> Twos(Runtime& runtime, const std::string& spec, const DimSizes& sizes,
                          DType dtype = DType::kF32) {
  return ShardedArray::Generate(runtime, *Spec::Parse(spec), dtype, sizes,
                                [](std::int64_t) { return 2.0; });
}

// An ordinary call of both ranks gives the right value.
Status ExpectUsable(Runtime& runtime) {
  CHORUS_ASSIGN_OR_RETURN(const ShardedArray ones, Twos(runtime, "u[I_X]", {{"I", 4}}));
  CHORUS_ASSIGN_OR_RETURN(const double norm, Norm(ones));
  return norm == 4 ? OkStatus() : Internal(fmt::format("the norm is {}", norm));
}

// What rank 1 has no memory for is an error of both, and nothing was sent for it.
struct Short {
  const char* name;
  std::function<Status(Runtime&, const ShardedArray&)> call;
  const char* names;  // a part of what rank 0 hears
};

TEST(NoneIsLeftTest, WhatOneRankHasNoMemoryForIsRefusedOnBoth) {
  const std::string path = TestPath("short.npy");
  const std::vector<Short> calls = {
      {"a gather",
       [](Runtime&, const ShardedArray& a) { return Reshard(a, *Spec::Parse("R[I, J]")).status(); },
       "all_gather"},
      {"a copy",
       [](Runtime&, const ShardedArray& a) {
         return Reshard(a, *Spec::Parse("R[I_X, J]")).status();
       },
       "R[I_X, J]"},
      {"a workspace",
       [](Runtime&, const ShardedArray& a) {
         return Reshard(a, *Spec::Parse("R[I, J_X]")).status();
       },
       "all_to_all"},
      {"an addition", [](Runtime&, const ShardedArray& a) { return Add(a, a).status(); },
       "add(A[I_X, J], A[I_X, J])"},
      {"a product",
       [](Runtime& runtime, const ShardedArray& a) {
         const Result<ShardedArray> b = Twos(runtime, "B[J, K]", {{"J", 32}, {"K", 12}});
         return b.ok() ? Matmul(a, *b, *Spec::Parse("C[I_X, K]")).status() : b.status();
       },
       "contract(A[I_X, J], B[J, K]) -> C[I_X, K]"},
      {"a maximum", [](Runtime&, const ShardedArray& a) { return Max(a, {}).status(); },
       "max(A[I_X, J]) over "},
      {"a sum",
       [](Runtime&, const ShardedArray& a) { return Sum(a, {}, *Spec::Parse("R[I, J]")).status(); },
       "sum(A[I_X, J]) over "},
      {"the whole", [](Runtime&, const ShardedArray& a) { return ToGlobal(a).status(); },
       "the whole of A[I_X, J] with I=64,J=32"},
      {"a file", [&](Runtime&, const ShardedArray& a) { return SaveNpy(a, path); },
       "the whole of A[I_X, J] with I=64,J=32"},
      {"a part",
       [](Runtime& runtime, const ShardedArray&) {
         const std::vector<float> part(1024);
         return ShardedArray::FromLocal(runtime, *Spec::Parse("P[I_X]"), {{"I", 2048}}, part)
             .status();
       },
       "P[I_X] with I=2048"},
  };
  // A is 8 KiB in all; 4 KiB lie on each rank, and rank 1 has room for less than a second one.
  OnTwoRanks({Bytes(1 << 20), Bytes(6000)}, [&](Runtime& runtime) -> Status {
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray a,
                            Twos(runtime, "A[I_X, J]", {{"I", 64}, {"J", 32}}));
    for (const Short& call : calls) {
      SCOPED_TRACE(call.name);
      for (int again = 0; again < 2; ++again) {
        const Bytes used = runtime.memory().used();
        const Status heard = call.call(runtime, a);
        EXPECT_EQ(heard.code(), StatusCode::kResourceExhausted);
        EXPECT_THAT(heard.message(), HasSubstr("may hold 5.859 KiB in all"));
        if (runtime.rank() == 0) {
          EXPECT_THAT(heard.message(), HasSubstr("rank 1 cannot do "));
          EXPECT_THAT(heard.message(), HasSubstr(call.names));
        }
        EXPECT_EQ(runtime.memory().used(), used);
        CHORUS_RETURN_IF_ERROR(ExpectUsable(runtime));
      }
    }
    return OkStatus();
  });
}

// Programs that gather what each rank made of its own.
constexpr const char* kJoin =
    "bound\n  a[I_X, J]: f32 input\noperations\n"
    "  g[I_X, J]: f32 activation = gelu(a)\n"
    "  b[I, J]: f32 activation = all_gather(g, I_X)\n"
    "outputs g, b\n";
constexpr const char* kLookUp =
    "bound\n  t[B_X, W]: i32 input\n  e[W, V, D]: f32 parameter\noperations\n"
    "  x[B_X, D]: f32 activation = embed_window(t, e)\n"
    "  y[B, D]: f32 activation = all_gather(x, B_X)\n"
    "outputs x, y\n";

StepProgram ProgramOf(const std::string& text) {
  const Result<StepProgram> program = StepProgram::Parse(text);
  EXPECT_TRUE(program.ok()) << program.status().message();
  return *program;
}

TEST(NoneIsLeftTest, ABoundValueThatOneRankLacksIsHeardOfOnBoth) {
  const DimSizes sizes = {{"I", 8}, {"J", 4}};
  OnTwoRanks({Bytes(1 << 20), Bytes(200)}, [&](Runtime& runtime) -> Status {
    CHORUS_ASSIGN_OR_RETURN(Executable step, Executable::Load(runtime, ProgramOf(kJoin), sizes));
    const auto heard = [&](const std::string& spec, DType dtype) -> Status {
      ArrayStore store;
      const bool is_right = runtime.rank() == 0;
      if (is_right || !spec.empty()) {
        CHORUS_ASSIGN_OR_RETURN(ShardedArray a,
                                Twos(runtime, is_right ? "a[I_X, J]" : spec, {{"I", 8}, {"J", 4}},
                                     is_right ? DType::kF32 : dtype));
        store.emplace("a", std::move(a));
      }
      const Status status = step.Run(store, AdamWSettings());
      if (is_right && store.at("a").ElementAt(0) != 2) return Internal("a has changed");
      CHORUS_RETURN_IF_ERROR(ExpectUsable(runtime));
      return status;
    };
    const std::string before =
        runtime.rank() == 0 ? "rank 1 cannot do a run of the program of 2 operations that gives g: "
                            : "";
    EXPECT_EQ(heard("", DType::kF32).message(),
              before + "the program needs a[I_X, J], which no array was given for");
    EXPECT_EQ(heard("a[I_X, J]", DType::kBF16).message(),
              before +
                  "the program needs f32 a[I_X, J] of [4, 4] on this rank, but the array given "
                  "is bf16 a[I_X, J] of [4, 4]");
    EXPECT_EQ(heard("a[I, J_X]", DType::kF32).message(),
              before +
                  "the program needs f32 a[I_X, J] of [4, 4] on this rank, but the array given "
                  "is f32 a[I, J_X] of [8, 2]");
    // Rank 1 has 200 bytes: a takes 64, g 64 and b 128.
    const Status is_short = heard("a[I_X, J]", DType::kF32);
    EXPECT_EQ(is_short.code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(is_short.message(),
              before +
                  "b[I, J]: f32 activation = all_gather(g, I_X): there is no memory for 192 "
                  "bytes more (192 B): the arrays of this rank hold 64 B, and may hold 200 B "
                  "in all");
    return OkStatus();
  });
}

TEST(NoneIsLeftTest, ProgramsThatDifferAreNeitherLoadedNorRun) {
  OnTwoRanks(kAmple, [](Runtime& runtime) -> Status {
    const bool first = runtime.rank() == 0;
    std::string other = kJoin;
    other.replace(other.find("gelu(a)"), 7, "add(a, a)");
    const Status loads =
        Executable::Load(runtime, ProgramOf(first ? kJoin : other), {{"I", 8}, {"J", 4}}).status();
    EXPECT_EQ(loads.message(),
              "for Executable::Load of a program the programs of ranks differ: rank 0 has "
              "'g[I_X, J]: f32 activation = gelu(a)', but rank 1 'g[I_X, J]: f32 activation = "
              "add(a, a)'; give all ranks the same program, sizes and RuntimeOptions");
    const Status sizes =
        Executable::Load(runtime, ProgramOf(kJoin), {{"I", first ? 8 : 6}, {"J", 4}}).status();
    EXPECT_THAT(sizes.message(),
                HasSubstr("rank 0 has 'sizes I=8,J=4', but rank 1 'sizes I=6,J=4'"));
    const Status lacks = Executable::Load(runtime, ProgramOf(kJoin),
                                          first ? DimSizes{{"I", 8}, {"J", 4}} : DimSizes{{"I", 8}})
                             .status();
    EXPECT_EQ(lacks.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(lacks.message(), HasSubstr(first ? "rank 1 cannot do Executable::Load" : "J"));
    CHORUS_RETURN_IF_ERROR(ExpectUsable(runtime));

    CHORUS_ASSIGN_OR_RETURN(Executable one,
                            Executable::Load(runtime, ProgramOf(kJoin), {{"I", 8}, {"J", 4}}));
    CHORUS_ASSIGN_OR_RETURN(Executable two,
                            Executable::Load(runtime, ProgramOf(other), {{"I", 8}, {"J", 4}}));
    ArrayStore store;
    CHORUS_ASSIGN_OR_RETURN(ShardedArray a, Twos(runtime, "a[I_X, J]", {{"I", 8}, {"J", 4}}));
    store.emplace("a", std::move(a));
    EXPECT_THAT((first ? one : two).Run(store, AdamWSettings()).message(),
                HasSubstr("the programs of ranks differ: rank 0 has 'g[I_X, J]"));
    CHORUS_RETURN_IF_ERROR(two.Run(store, AdamWSettings()));
    CHORUS_RETURN_IF_ERROR(one.Run(store, AdamWSettings()));
    return ExpectUsable(runtime);
  });
}

TEST(NoneIsLeftTest, AnIndexOutsideItsTableIsHeardOfOnBoth) {
  const DimSizes sizes = {{"B", 4}, {"W", 2}, {"V", 3}, {"D", 2}};
  OnTwoRanks(kAmple, [&](Runtime& runtime) -> Status {
    CHORUS_ASSIGN_OR_RETURN(Executable step, Executable::Load(runtime, ProgramOf(kLookUp), sizes));
    ArrayStore store;
    CHORUS_ASSIGN_OR_RETURN(ShardedArray t, Twos(runtime, "t[B_X, W]", sizes, DType::kI32));
    CHORUS_ASSIGN_OR_RETURN(ShardedArray e, Twos(runtime, "e[W, V, D]", sizes));
    if (runtime.rank() == 1) t.SetElement(3, 7);
    ShardedArray& bound = store.emplace("t", std::move(t)).first->second;
    store.emplace("e", std::move(e));
    const std::string why = "token number 3 of this rank is 7; it must be in 0..2";
    EXPECT_THAT(step.Run(store, AdamWSettings()).message(), HasSubstr(why));
    CHORUS_RETURN_IF_ERROR(ExpectUsable(runtime));
    bound.SetElement(3, 1);
    return step.Run(store, AdamWSettings());
  });
}

// An index in what a program made is found where it is used: the ranks that would wait are told,
// and the groups are over.
TEST(NoneIsLeftTest, WhatFailsWithinARunEndsTheGroupsAtOnce) {
  std::string text = kLookUp;
  text.replace(text.find("t[B_X, W]"), 9, "s[B, W]");
  text.insert(text.find("  x["), "  t[B_X, W]: i32 activation = slice(s, B_X)\n");
  text.replace(text.find("outputs x"), 9, "outputs t, x");
  OnTwoRanks(kAmple, [&](Runtime& runtime) -> Status {
    const DimSizes sizes = {{"B", 4}, {"W", 2}, {"V", 3}, {"D", 2}};
    CHORUS_ASSIGN_OR_RETURN(Executable step, Executable::Load(runtime, ProgramOf(text), sizes));
    ArrayStore store;
    CHORUS_ASSIGN_OR_RETURN(ShardedArray s, Twos(runtime, "s[B, W]", sizes, DType::kI32));
    CHORUS_ASSIGN_OR_RETURN(ShardedArray e, Twos(runtime, "e[W, V, D]", sizes));
    s.SetElement(7, 7);
    store.emplace("s", std::move(s));
    store.emplace("e", std::move(e));
    const Status heard = step.Run(store, AdamWSettings());
    EXPECT_THAT(heard.message(), HasSubstr("token number 3 of this rank is 7"));
    EXPECT_EQ(heard.code(),
              runtime.rank() == 1 ? StatusCode::kInvalidArgument : StatusCode::kAborted);
    EXPECT_EQ(ExpectUsable(runtime).code(), StatusCode::kAborted);
    return OkStatus();
  });
}

// Groups follow from the mesh, so that it belongs to every question.
TEST(NoneIsLeftTest, RuntimesOfOtherMeshesHearOfBoth) {
  const Status status = RunRanks(2, RankKind::kThreads, [&](Group& group) -> Status {
    const char* const mesh = group.rank() == 0 ? "X=2" : "X=2,Y=1";
    CHORUS_ASSIGN_OR_RETURN(const auto runtime, Runtime::Create(group, *Mesh::Parse(mesh), {}));
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray a, Twos(*runtime, "a[I_X]", {{"I", 4}}));
    EXPECT_EQ(Norm(a).status().message(),
              "rank 0 asks for norm(a[I_X]) -> a number in f32 with I=4 on X=2, but rank 1 for "
              "norm(a[I_X]) -> a number in f32 with I=4 on X=2,Y=1; every rank must ask for the "
              "same");
    return OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace chorus
