// Two matrices that lie on all ranks are multiplied; the result is measured, saved and read back.
//
//   chorus run -n 4 ./sharded-matmul
#include <chorus/shard/names.h>
#include <chorus/tensor/npy.h>
#include <chorus/tensor/operations.h>

#include <cstdio>
#include <string>

namespace {

using chorus::ShardedArray;

// C = A . B on a mesh of one axis, X.
chorus::Status Run(chorus::Group group, const std::string& path) {
  CHORUS_ASSIGN_OR_RETURN(const chorus::Mesh mesh, chorus::Mesh::Create({{"X", group.size()}}));
  CHORUS_ASSIGN_OR_RETURN(const auto runtime, chorus::Runtime::Create(std::move(group), mesh, {}));

  // The product, in names. It is the text "A[I_X, J] * B[J_X, K] -> C[I, K_X]".
  const chorus::Axis X("X");
  const chorus::Dim I("I"), J("J"), K("K");
  const chorus::ArrayTerm a_lies = chorus::ArrayName("A")(I / X, J);  // rows over the ranks
  const chorus::ArrayTerm b_lies = chorus::ArrayName("B")(J / X, K);
  CHORUS_ASSIGN_OR_RETURN(const chorus::Product product,
                          (a_lies * b_lies).To(chorus::ArrayName("C")(I, K / X)));

  // A (i, j) = i + 1 where i = j, else 0; B (j, k) = j - k. Sizes need not divide.
  const chorus::DimSizes sizes = {{"I", 7}, {"J", 7}, {"K", 5}};
  CHORUS_ASSIGN_OR_RETURN(const chorus::Spec a_spec, a_lies.ToSpec());
  CHORUS_ASSIGN_OR_RETURN(const chorus::Spec b_spec, b_lies.ToSpec());
  CHORUS_ASSIGN_OR_RETURN(
      const ShardedArray a,
      ShardedArray::Generate(*runtime, a_spec, chorus::DType::kF32, sizes, [](std::int64_t at) {
        return at / 7 == at % 7 ? static_cast<double>(at / 7 + 1) : 0.0;
      }));
  CHORUS_ASSIGN_OR_RETURN(
      const ShardedArray b,
      ShardedArray::Generate(*runtime, b_spec, chorus::DType::kF32, sizes,
                             [](std::int64_t at) { return static_cast<double>(at / 5 - at % 5); }));

  CHORUS_ASSIGN_OR_RETURN(const ShardedArray c, chorus::Multiply(product, {&a, &b}));
  CHORUS_ASSIGN_OR_RETURN(const double norm, chorus::Norm(c));
  CHORUS_ASSIGN_OR_RETURN(const ShardedArray largest, chorus::Max(c, {"I", "K"}));

  // Saved as one .npy file, read back under another layout: the same array.
  CHORUS_RETURN_IF_ERROR(chorus::SaveNpy(c, path));
  CHORUS_ASSIGN_OR_RETURN(const chorus::Spec rows, chorus::Spec::Parse("C[I_X, K]"));
  CHORUS_ASSIGN_OR_RETURN(const ShardedArray back,
                          chorus::LoadNpy(*runtime, rows, chorus::DType::kF32, path));
  CHORUS_ASSIGN_OR_RETURN(const double again, chorus::Norm(back));

  if (runtime->rank() == 0) {
    std::printf("%s on %d ranks\n", product.ToString().c_str(), runtime->world().size());
    std::printf("norm %g, largest %g, norm after reading %s: %g\n", norm, largest.ElementAt(0),
                path.c_str(), again);
  }
  return norm == again ? chorus::OkStatus() : chorus::Internal("another array came back");
}

}  // namespace

int main(int argc, char** argv) {
  chorus::Result<chorus::Group> joined = chorus::Join();
  const chorus::Status status =
      joined.ok() ? Run(*joined, argc > 1 ? argv[1] : "product.npy") : joined.status();
  if (!status.ok()) std::fprintf(stderr, "sharded-matmul: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
