#include "chorus/tensor/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "chorus/base/test_path_test.h"
#include "chorus/collective/run_ranks.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;

Status OnRanks(int ranks, const std::function<Status(Runtime&)>& function) {
  return RunRanks(ranks, RankKind::kThreads, [&](Group& group) -> Status {
    CHORUS_ASSIGN_OR_RETURN(
        const auto runtime,
        Runtime::Create(group, *Mesh::Create({{"X", group.size()}}), {.poison_memory = true}));
    return function(*runtime);
  });
}

// The bytes that NumPy writes for np.arange(6, dtype=np.float32).reshape(2, 3): a header that fills
// 128 bytes, then six floats.
TEST(NpyTest, WritesWhatNumPyWrites) {
  const std::string path = TestPath("two_by_three.npy");
  const Status status = OnRanks(2, [&](Runtime& runtime) -> Status {
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray a,
                            ShardedArray::Generate(runtime, *Spec::Parse("a[I, J_X]"), DType::kF32,
                                                   {{"I", 2}, {"J", 3}}, [](std::int64_t at) {
                                                     return static_cast<double>(at);
                                                   }));
    return SaveNpy(a, path);
  });
  ASSERT_TRUE(status.ok()) << status.message();
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_EQ(bytes.size(), 128u + 24u);
  std::string header = std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                       "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  header.append(127 - header.size(), ' ');
  EXPECT_EQ(bytes.substr(0, 128), header + "\n");
  EXPECT_EQ(bytes.substr(128, 8), std::string("\x00\x00\x00\x00\x00\x00\x80\x3f", 8));  // 0, 1
}

// Saved under one layout, loaded under another, on another number of ranks.
TEST(NpyTest, IsReadUnderAnyLayoutAndNumberOfRanks) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kI32}) {
    const std::string path = TestPath("any_layout.npy");
    const auto number = [](std::int64_t at) { return static_cast<double>(at % 100) - 50; };
    const DimSizes sizes = {{"I", 7}, {"J", 1}, {"K", 5}};
    Status status = OnRanks(3, [&](Runtime& runtime) -> Status {
      CHORUS_ASSIGN_OR_RETURN(
          const ShardedArray a,
          ShardedArray::Generate(runtime, *Spec::Parse("a[I_X, J, K]"), dtype, sizes, number));
      return SaveNpy(a, path);
    });
    ASSERT_TRUE(status.ok()) << status.message();
    status = OnRanks(2, [&](Runtime& runtime) -> Status {
      CHORUS_ASSIGN_OR_RETURN(const ShardedArray a,
                              LoadNpy(runtime, *Spec::Parse("a[I, J, K_X]"), dtype, path));
      CHORUS_ASSIGN_OR_RETURN(const PlainArray whole, ToGlobal(a));
      if (whole.shape != Shape({7, 1, 5})) return Internal(whole.shape.ToString());
      for (std::int64_t at = 0; at < 35; ++at) {
        if (whole.elements[at] != number(at)) return Internal("another number");
      }
      return OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(NpyTest, OneAndNoDimensionsAndNoElements) {
  for (const char* spec : {"a[]", "a[I]", "a[I, J]"}) {
    const std::string path = TestPath("edges.npy");
    const Status status = OnRanks(2, [&](Runtime& runtime) -> Status {
      const DimSizes sizes = {{"I", 3}, {"J", 0}};
      const Spec parsed = *Spec::Parse(spec);
      CHORUS_ASSIGN_OR_RETURN(
          const ShardedArray a,
          ShardedArray::Generate(runtime, parsed, DType::kF64, sizes,
                                 [](std::int64_t at) { return static_cast<double>(at) + 0.5; }));
      CHORUS_RETURN_IF_ERROR(SaveNpy(a, path));
      CHORUS_ASSIGN_OR_RETURN(const ShardedArray back, LoadNpy(runtime, parsed, DType::kF64, path));
      CHORUS_ASSIGN_OR_RETURN(const PlainArray want, ToGlobal(a));
      CHORUS_ASSIGN_OR_RETURN(const PlainArray got, ToGlobal(back));
      return got == want ? OkStatus() : Internal("another array");
    });
    EXPECT_TRUE(status.ok()) << spec << ": " << status.message();
  }
}

TEST(NpyTest, SaysWhatIsWrongWithAFile) {
  const std::string path = TestPath("wrong.npy");
  const auto error = [&](const std::string& bytes, const char* spec) {
    std::ofstream(path, std::ios::binary) << bytes;
    std::string message;
    const Status status = OnRanks(1, [&](Runtime& runtime) -> Status {
      message = LoadNpy(runtime, *Spec::Parse(spec), DType::kF32, path).status().message();
      return OkStatus();
    });
    return message;
  };
  const auto file = [](const std::string& dictionary) {
    return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(dictionary.size()) + '\0' +
           dictionary;
  };
  EXPECT_THAT(error("not a file", "a[I]"), HasSubstr("does not begin as a .npy file"));
  EXPECT_THAT(error(file("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }"), "a[I]"),
              HasSubstr("has another header; give a .npy file of '<f4', '<f8' or '<i4'"));
  EXPECT_THAT(error(file("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }"), "a[I]"),
              HasSubstr("is column-major"));
  EXPECT_THAT(error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"), "a[I, J]"),
              HasSubstr("is [2], but a[I, J] has 2 dimensions"));
  EXPECT_THAT(error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"), "a[I]"),
              HasSubstr("ends before its last element"));
  const Status nowhere = OnRanks(2, [](Runtime& runtime) -> Status {
    CHORUS_ASSIGN_OR_RETURN(const ShardedArray a,
                            ShardedArray::Generate(runtime, *Spec::Parse("a[]"), DType::kF32, {},
                                                   [](std::int64_t) { return 1.0; }));
    const Status saved = SaveNpy(a, "/nowhere/a.npy");  // every rank hears of it
    if (saved.ok()) return Internal("saved nowhere");
    return LoadNpy(runtime, *Spec::Parse("a[]"), DType::kF32, "/nowhere/a.npy").ok()
               ? Internal("read nowhere")
               : OkStatus();
  });
  EXPECT_TRUE(nowhere.ok()) << nowhere.message();
}

}  // namespace
}  // namespace chorus
