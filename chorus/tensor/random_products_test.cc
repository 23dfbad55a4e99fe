// Products drawn at random, carried out on ranks: values of the dense product, bytes, operations
// and peak memory as predicted, on every rank.
//
// CHORUS_PRODUCTS is how many are drawn (default 12 over threads, and a tenth of them over
// processes).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/tensor/trial.h"

namespace chorus {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : stream_(seed, "products") {}
  std::uint64_t Below(std::uint64_t n) { return stream_.Below(n, ++draws_); }

 private:
  RandomStream stream_;
  std::uint64_t draws_ = 0;
};

struct RandomCase {
  Mesh mesh;
  DimSizes sizes;
  Product product;
  ProductAnswer answer;
  DType dtype = DType::kF64;

  std::string ToString() const {
    return fmt::format("{} on {} with {}, {}", product.ToString(), mesh.ToString(),
                       chorus::ToString(sizes), Name(dtype));
  }
};

// Up to three axes of sizes 1 to 3, 8 ranks at most.
Mesh DrawMesh(Draw& draw) {
  while (true) {
    std::vector<MeshAxis> axes;
    const std::uint64_t count = 1 + draw.Below(3);
    for (std::uint64_t a = 0; a < count; ++a) {
      axes.push_back({std::string(1, static_cast<char>('X' + a)),
                      1 + static_cast<std::int64_t>(draw.Below(3))});
    }
    const Mesh mesh = *Mesh::Create(axes);
    if (mesh.size() <= 8) return mesh;
  }
}

// Every axis, in some order, on a dimension, on none, or (`sums`) among the partial ones.
std::string DrawSpec(Draw& draw, const Mesh& mesh, const std::string& name,
                     const std::vector<std::string>& dims, bool sums) {
  std::vector<std::string> axes;
  for (const MeshAxis& axis : mesh.axes()) {
    axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(draw.Below(axes.size() + 1)), axis.name);
  }
  std::vector<std::string> split(dims.size());
  std::string partial;
  for (const std::string& axis : axes) {
    const std::uint64_t place = draw.Below(dims.size() + (sums ? 2 : 1));
    if (place < dims.size()) split[place] += axis;
    if (place == dims.size() + 1) partial += axis;
  }
  std::string text = name + "[";
  for (std::size_t d = 0; d < dims.size(); ++d) {
    text += (d == 0 ? "" : ", ") + dims[d] + (split[d].empty() ? "" : "_") + split[d];
  }
  return text + "]" + (partial.empty() ? "" : "{U_" + partial + "}");
}

// Empty if the planner refuses it, as a sum over an axis in two operands.
std::optional<RandomCase> DrawCase(Draw& draw) {
  RandomCase c;
  c.mesh = DrawMesh(draw);
  const bool batch = draw.Below(4) == 0;
  const auto with = [batch](std::vector<std::string> dims) {
    if (batch) dims.insert(dims.begin() + 1, "Z");
    return dims;
  };
  for (const char* dim : {"I", "J", "K", "Z"}) {
    if (dim != std::string("Z") || batch) {
      c.sizes[dim] = 1 + static_cast<std::int64_t>(draw.Below(9));
    }
  }
  std::string text = DrawSpec(draw, c.mesh, "A", with({"I", "J"}), draw.Below(3) == 0) + " * " +
                     DrawSpec(draw, c.mesh, "B", with({"J", "K"}), draw.Below(3) == 0);
  if (draw.Below(4) != 0 || batch) {
    text += " -> " + DrawSpec(draw, c.mesh, "C", with({"K", "I"}), draw.Below(4) == 0);
  }
  const DType dtypes[] = {DType::kF64, DType::kF32, DType::kBF16};
  c.dtype = dtypes[draw.Below(3)];
  Result<Product> product = ParseProduct(text);
  if (!product.ok()) return std::nullopt;
  c.product = *std::move(product);
  const Result<ProductAnswer> plain =
      ExplainProduct(c.product, c.mesh, c.sizes, c.dtype, Tariff{1, 10});
  if (!plain.ok()) return std::nullopt;
  // A third of those that can be done by a loop over chunks are, and a third of those that can be
  // done in less memory.
  WayLimits limits;
  const std::uint64_t how = draw.Below(3);
  limits.overlap = how == 0;
  if (how == 1) {
    limits.most_memory = PeakMemory(plain->program, c.mesh, c.sizes, 0).peak - Bytes(1);
  }
  const Result<ProductAnswer> limited =
      ExplainProduct(c.product, c.mesh, c.sizes, c.dtype, Tariff{1, 10}, limits);
  c.answer = limited.ok() ? *limited : *plain;
  return c;
}

void ExpectRight(const RandomCase& c, RankKind kind) {
  const Status status =
      RunRanks(static_cast<int>(c.mesh.size()), kind, [&](Group& group) -> Status {
        CHORUS_ASSIGN_OR_RETURN(
            const auto runtime,
            Runtime::Create(group, c.mesh, {.kernels = KernelSet::kPlain, .poison_memory = true}));
        CHORUS_ASSIGN_OR_RETURN(const Trial trial, TryProduct(*runtime, c.product, c.answer,
                                                              c.sizes, c.dtype, /*runs=*/1));
        if (!trial.check.right()) return Internal(trial.check.first_wrong);
        return trial.right() ? OkStatus() : Internal("counted is not predicted");
      });
  EXPECT_TRUE(status.ok()) << c.ToString() << ": " << status.message();
}

int Count() {
  const char* const asked = std::getenv("CHORUS_PRODUCTS");
  return asked == nullptr ? 12 : std::atoi(asked);
}

void RunMany(int count, std::uint64_t seed, RankKind kind) {
  Draw draw(seed);
  int run = 0;
  for (int drawn = 0; run < count && drawn < 100 * count; ++drawn) {
    const std::optional<RandomCase> c = DrawCase(draw);
    if (!c) continue;
    ++run;
    ExpectRight(*c, kind);
  }
  EXPECT_EQ(run, count);
}

TEST(RandomProductsTest, AreRightOverThreads) { RunMany(Count(), 1, RankKind::kThreads); }
TEST(RandomProductsTest, AreRightOverProcesses) {
  RunMany((Count() + 9) / 10, 2, RankKind::kProcesses);
}

}  // namespace
}  // namespace chorus
