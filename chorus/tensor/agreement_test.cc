#include "chorus/tensor/agreement.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "chorus/collective/run_ranks.h"
#include "chorus/tensor/operations.h"

namespace chorus {
namespace {

using testing::HasSubstr;

Spec SpecOf(const std::string& text) { return *Spec::Parse(text); }

Result<ShardedArray> Ones(Runtime& runtime, const std::string& spec, DType dtype) {
  return ShardedArray::Generate(runtime, SpecOf(spec), dtype, {{"I", 4}, {"J", 3}, {"K", 2}},
                                [](std::int64_t) { return 1.0; });
}

// What ranks have to ask with.
struct ToAskWith {
  Runtime& runtime;
  ShardedArray a;       // f32 A[I_X, J]
  ShardedArray b;       // f32 B[J_X, K]
  ShardedArray wide;    // f64 B[J_X, K]
  ShardedArray lies;    // f32 B[J, K]
  ShardedArray tokens;  // i32 A[I_X, J]
};

void OnRanks(int ranks, const std::function<Status(ToAskWith&)>& function) {
  const Mesh mesh = *Mesh::Parse(fmt::format("X={}", ranks));
  const Status status = RunRanks(ranks, RankKind::kThreads, [&](Group& group) -> Status {
    CHORUS_ASSIGN_OR_RETURN(const auto runtime,
                            Runtime::Create(group, mesh, {.kernels = KernelSet::kPlain}));
    CHORUS_ASSIGN_OR_RETURN(ShardedArray a, Ones(*runtime, "A[I_X, J]", DType::kF32));
    CHORUS_ASSIGN_OR_RETURN(ShardedArray b, Ones(*runtime, "B[J_X, K]", DType::kF32));
    CHORUS_ASSIGN_OR_RETURN(ShardedArray wide, Ones(*runtime, "B[J_X, K]", DType::kF64));
    CHORUS_ASSIGN_OR_RETURN(ShardedArray lies, Ones(*runtime, "B[J, K]", DType::kF32));
    CHORUS_ASSIGN_OR_RETURN(ShardedArray tokens, Ones(*runtime, "A[I_X, J]", DType::kI32));
    ToAskWith asked{*runtime,        std::move(a),    std::move(b),
                    std::move(wide), std::move(lies), std::move(tokens)};
    return function(asked);
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

// An ordinary call of all ranks gives the right value: nothing is left over from what was refused.
Status ExpectInStep(const ToAskWith& asked, const std::string& result) {
  CHORUS_ASSIGN_OR_RETURN(const ShardedArray c, Matmul(asked.a, asked.b, SpecOf(result)));
  CHORUS_ASSIGN_OR_RETURN(const PlainArray got, ToGlobal(c));
  return got.elements == std::vector<double>(8, 3) ? OkStatus() : Internal("another product");
}

std::int64_t GathersOf(Runtime& runtime) {
  return runtime.world().traffic()[OpKind::kAllGather].calls;
}

// One kind of operation, that only one of two ranks can do.
struct OneSided {
  const char* name;
  std::function<Status(const ToAskWith&)> bad, good;
  const char* own;     // part of what the rank hears that refuses
  const char* others;  // and the other
};

std::vector<OneSided> OneSidedCases() {
  const Product product = *ParseProduct("A[I_X, J] * B[J_X, K] -> C[I_X, K]");
  const auto multiply = [product](const ShardedArray& a, const ShardedArray& b) {
    return Multiply(product, {&a, &b}).status();
  };
  return {
      {"Matmul of two dtypes",
       [](const ToAskWith& q) { return Matmul(q.a, q.wide, SpecOf("C[I_X, K]")).status(); },
       [](const ToAskWith& q) { return Matmul(q.a, q.b, SpecOf("C[I_X, K]")).status(); },
       "A[I_X, J] is f32, but B[J_X, K] is f64; convert one of them",
       "cannot do contract(A[I_X, J], B[J_X, K]) -> C[I_X, K] in f32 with I=4,J=3,K=2: A[I_X, J] "
       "is "
       "f32, but B[J_X, K] is f64; convert one of them"},
      {"Multiply of what lies otherwise", [=](const ToAskWith& q) { return multiply(q.a, q.lies); },
       [=](const ToAskWith& q) { return multiply(q.a, q.b); }, "product(A[I_X, J], B[J, K]) -> ",
       "product(A[I_X, J], B[J_X, K]) -> "},
      {"Multiply of two dtypes", [=](const ToAskWith& q) { return multiply(q.a, q.wide); },
       [=](const ToAskWith& q) { return multiply(q.a, q.b); },
       "A[I_X, J] is f32, but B[J_X, K] is f64; convert one of them", "cannot do product(A"},
      {"Multiply of too few",
       [=](const ToAskWith& q) { return Multiply(product, {&q.a}).status(); },
       [=](const ToAskWith& q) { return multiply(q.a, q.b); }, "product(A[I_X, J]) -> ",
       "product(A[I_X, J]) -> "},
      {"Reshard to another dimension",
       [](const ToAskWith& q) { return Reshard(q.a, SpecOf("A[I, K]")).status(); },
       [](const ToAskWith& q) { return Reshard(q.a, SpecOf("A[I, J]")).status(); },
       "reshard(A[I_X, J]) -> A[I, K]", "reshard(A[I_X, J]) -> A[I, K]"},
      {"Add of other dimensions", [](const ToAskWith& q) { return Add(q.a, q.b).status(); },
       [](const ToAskWith& q) { return Add(q.a, q.a).status(); }, "add(A[I_X, J], B[J_X, K]) -> ",
       "add(A[I_X, J], A[I_X, J]) -> "},
      {"Gelu of whole numbers", [](const ToAskWith& q) { return Gelu(q.tokens).status(); },
       [](const ToAskWith& q) { return Gelu(q.a).status(); },
       "gelu(A[I_X, J]) -> gelu[I_X, J] in i32", "gelu(A[I_X, J]) -> gelu[I_X, J] in f32"},
      {"Sum over what is not there",
       [](const ToAskWith& q) { return Sum(q.a, {"Q"}, SpecOf("S[J]")).status(); },
       [](const ToAskWith& q) { return Sum(q.a, {"I"}, SpecOf("S[J]")).status(); },
       "sum(A[I_X, J]) over Q -> S[J] in f32", "sum(A[I_X, J]) over I -> S[J] in f32"},
      {"Max over what is not there", [](const ToAskWith& q) { return Max(q.a, {"Q"}).status(); },
       [](const ToAskWith& q) { return Max(q.a, {"I"}).status(); }, "max(A[I_X, J]) over Q in f32",
       "max(A[I_X, J]) over I in f32"},
      {"Norm of whole numbers", [](const ToAskWith& q) { return Norm(q.tokens).status(); },
       [](const ToAskWith& q) { return Norm(q.a).status(); }, "norm(A[I_X, J]) -> a number in i32",
       "norm(A[I_X, J]) -> a number in f32"},
      {"FromLocal of another size",
       [](const ToAskWith& q) {
         const std::vector<float> part(3, 1);
         return ShardedArray::FromLocal(q.runtime, SpecOf("P[I_X]"), {{"I", 4}}, part).status();
       },
       [](const ToAskWith& q) {
         const std::vector<float> part(2, 1);
         return ShardedArray::FromLocal(q.runtime, SpecOf("P[I_X]"), {{"I", 4}}, part).status();
       },
       "has 3 elements", "has 3 elements"},
  };
}

// What only one rank refuses is an error of both, the second time too, and both stay in step.
TEST(AgreementTest, ARefusalOfOneRankIsHeardByTheOthers) {
  OnRanks(2, [](ToAskWith& asked) -> Status {
    const std::vector<OneSided> cases = OneSidedCases();
    int asks = 0;
    for (const OneSided& one : cases) {
      for (const int refuses : {0, 0, 1, 1}) {
        SCOPED_TRACE(fmt::format("{}, refused by rank {}", one.name, refuses));
        const bool mine = asked.runtime.rank() == refuses;
        const Status heard = mine ? one.bad(asked) : one.good(asked);
        EXPECT_FALSE(heard.ok());
        EXPECT_THAT(heard.message(), HasSubstr(mine ? one.own : one.others));
        EXPECT_THAT(heard.message(), HasSubstr(mine ? "" : fmt::format("rank {}", refuses)));
        CHORUS_RETURN_IF_ERROR(ExpectInStep(asked, fmt::format("D{}[I_X, K]", ++asks)));
      }
    }
    for (const OneSided& one : cases) CHORUS_RETURN_IF_ERROR(one.good(asked));
    return OkStatus();
  });
}

// What moves nothing asks nobody: the other rank goes on, in step.
TEST(AgreementTest, WhatMovesNothingIsRefusedAlone) {
  OnRanks(2, [](ToAskWith& asked) -> Status {
    const bool first = asked.runtime.rank() == 0;
    const Status sum = Sum(asked.a, {first ? "Q" : "J"}).status();
    EXPECT_EQ(sum.ok(), !first);
    EXPECT_EQ(Scale(2, first ? asked.tokens : asked.a).ok(), !first);
    EXPECT_EQ(Apply(first ? asked.tokens : asked.a, [](double x) { return x; }).ok(), !first);
    return ExpectInStep(asked, "D[I_X, K]");
  });
}

// What all refuse alike is the plain error at each; one rank alone sends nothing for it.
TEST(AgreementTest, WhatAllRefuseIsThePlainError) {
  for (const int ranks : {1, 2}) {
    OnRanks(ranks, [&](ToAskWith& asked) -> Status {
      const std::int64_t gathers = GathersOf(asked.runtime);
      EXPECT_EQ(Matmul(asked.a, asked.wide, SpecOf("C[I_X, K]")).status().message(),
                "A[I_X, J] is f32, but B[J_X, K] is f64; convert one of them");
      for (const Status& status :
           {Max(asked.a, {"Q"}).status(), Sum(asked.a, {"Q"}, SpecOf("S[J]")).status()}) {
        EXPECT_EQ(status.message(), "A[I_X, J] has no dimension Q that could be reduced");
      }
      EXPECT_EQ(Multiply(*ParseProduct("A[I_X, J] * B[J, K] -> C[I_X, K]"), {}).status().message(),
                "A[I_X, J] * B[J, K] -> C[I_X, K] has 2 operands, but 0 arrays were given");
      EXPECT_EQ(GathersOf(asked.runtime) - gathers, ranks == 1 ? 0 : 3);
      return ExpectInStep(asked, "D[I_X, K]");
    });
  }
}

// Each time one gather of 24 bytes, whether the question is new or was asked before.
TEST(AgreementTest, EachQuestionIsAgreedOnOnceEachTime) {
  OnRanks(2, [](ToAskWith& asked) -> Status {
    for (int again = 0; again < 3; ++again) {
      const std::int64_t gathers = GathersOf(asked.runtime);
      CHORUS_RETURN_IF_ERROR(Add(asked.a, asked.a).status());
      CHORUS_RETURN_IF_ERROR(Sum(asked.a, {"J"}, SpecOf("S[I_X]")).status());
      CHORUS_RETURN_IF_ERROR(Max(asked.a, {"J"}).status());
      EXPECT_EQ(GathersOf(asked.runtime) - gathers, 3);
    }
    return OkStatus();
  });
}

// A rank that repeats a question while the other asks something new, either way round.
TEST(AgreementTest, ARankThatRepeatsHearsOfOneThatAsksAnew) {
  OnRanks(2, [](ToAskWith& asked) -> Status {
    CHORUS_RETURN_IF_ERROR(Matmul(asked.a, asked.b, SpecOf("C[I_X, K]")).status());
    for (const int repeats : {0, 1}) {
      const bool mine = asked.runtime.rank() == repeats;
      const Status heard =
          Matmul(asked.a, asked.b, SpecOf(mine ? "C[I_X, K]" : "C[I, K]")).status();
      EXPECT_EQ(heard.code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(heard.message(), HasSubstr("-> C[I_X, K] in f32 with I=4,J=3,K=2"));
      EXPECT_THAT(heard.message(), HasSubstr("-> C[I, K] in f32 with I=4,J=3,K=2"));
      const Status other = mine ? ToGlobal(asked.a).status() : Norm(asked.a).status();
      EXPECT_THAT(other.message(), HasSubstr("ToGlobal of f32 A[I_X, J] with I=4,J=3"));
      EXPECT_THAT(other.message(), HasSubstr("norm(A[I_X, J])"));
      CHORUS_RETURN_IF_ERROR(ExpectInStep(asked, "C[I_X, K]"));
    }
    return OkStatus();
  });
}

}  // namespace
}  // namespace chorus
