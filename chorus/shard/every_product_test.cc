// Every product on every small mesh, by the sequential interpreter. A sample of the day runs each
// time; the whole takes hours:
//
//   CHORUS_PRODUCTS=whole shard_test --gtest_filter='EveryProductOnSmallMeshes.*'
//   CHORUS_PRODUCTS=whole/8/3    the fourth of eight parts
//   CHORUS_PRODUCTS=5000         so many of each run
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "chorus/program/account.h"
#include "chorus/program/interpreter.h"
#include "chorus/shard/product_cases_test.h"
#include "chorus/shard/traffic.h"

namespace chorus {
namespace {

// Layouts of an array of two dimensions over k axes, counted without making any: m of them split
// dimensions, in m! orders cut at m + 1 places; the others are sums or unused.
std::int64_t CountLayouts(std::int64_t k) {
  std::int64_t layouts = 0;
  std::int64_t choose_ordered = 1;  // k! / (k - m)!
  for (std::int64_t m = 0; m <= k; ++m) {
    layouts += choose_ordered * (m + 1) * (std::int64_t{1} << (k - m));
    choose_ordered *= k - m;
  }
  return layouts;
}

// Burnside: the mean over renamings of the triples that each leaves as they are. A layout is left
// as it is if the axes of each cycle are all sums or all unused.
std::int64_t CountProducts(const Mesh& mesh) {
  std::vector<std::size_t> to(mesh.axes().size());
  for (std::size_t a = 0; a < to.size(); ++a) to[a] = a;
  std::int64_t renamings = 0;
  std::int64_t fixed = 0;
  do {
    bool keeps = true;
    std::int64_t alone = 0;
    std::int64_t cycles = 0;  // of two axes and more
    std::vector<bool> seen(to.size(), false);
    for (std::size_t a = 0; a < to.size(); ++a) {
      keeps = keeps && mesh.axes()[a].size == mesh.axes()[to[a]].size;
      if (to[a] == a) {
        ++alone;
      } else if (!seen[a]) {
        ++cycles;
        for (std::size_t b = a; !seen[b]; b = to[b]) seen[b] = true;
      }
    }
    if (!keeps) continue;
    ++renamings;
    const std::int64_t layouts = CountLayouts(alone) << cycles;
    fixed += layouts * layouts * (layouts + 1);
  } while (std::next_permutation(to.begin(), to.end()));
  return fixed / renamings;
}

TEST(EveryProductOnSmallMeshes, AreAsManyAsCountedOtherwise) {
  EXPECT_EQ(CountLayouts(1), 4);   // I, J, a sum, unused
  EXPECT_EQ(CountLayouts(2), 18);  // by hand: 4 without a split, 8 with one, 6 with two
  EXPECT_EQ(CountLayouts(3), 92);
  std::int64_t all = 0;
  for (const Mesh& mesh : ProductCases::Meshes()) {
    const ProductCases cases(mesh);
    ASSERT_EQ(static_cast<std::int64_t>(cases.layouts()), CountLayouts(std::ssize(mesh.axes())));
    std::int64_t first = 0;
    for (std::int64_t i = 0; i < cases.size(); ++i) first += cases.IsFirst(i) ? 1 : 0;
    EXPECT_EQ(first, CountProducts(mesh)) << mesh.ToString();
    all += first;
  }
  EXPECT_EQ(ProductCases::Meshes().size(), 15U);
  std::printf("%lld products in all\n", static_cast<long long>(all));
}

// Plans that say bytes are carried out by algorithms that send least.
Choices LeastBytes() {
  std::vector<Choices::Row> rows;
  for (std::int64_t n = 2; n <= 8; ++n) {
    for (const OpKind op : {OpKind::kAllGather, OpKind::kReduceScatter, OpKind::kAllReduce}) {
      rows.push_back({op, n, Bytes(0), *FindAlgorithm("ring", op)});
    }
  }
  return *Choices::Create(rows);
}

// One product: it is legal, its values are those of the plain one, rank by rank it sends no more
// than its plan says, and where all blocks are even exactly that.
void CheckCase(const ProductCases& cases, std::int64_t i, std::uint64_t seed,
               const Choices& choices) {
  const Product product = cases.At(i);
  const DimSizes sizes = ProductCases::SizesOf(seed, i);
  const Mesh& mesh = cases.mesh();
  SCOPED_TRACE(product.ToString() + " on " + mesh.ToString() + ", " + ToString(sizes) +
               "; repeat with CHORUS_SEED=" + std::to_string(seed));
  const auto plans = PlanChain(product.operands, product.result, product.wanted, mesh, sizes,
                               DType::kF64, Tariff(), /*most_ways=*/1);
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  const ChainPlan& plan = plans->front();
  ASSERT_TRUE(!product.wanted || plan.Final().SameLayout(*product.wanted));
  const Result<StepProgram> program = ProgramOf(product, plan, DType::kF64);
  ASSERT_TRUE(program.ok()) << program.status().message();
  const auto arrays = ProductCases::ArraysOf(sizes);
  const auto run = Interpret(*program, mesh, sizes, arrays, AdamWSettings());
  ASSERT_TRUE(run.ok()) << run.status().message();
  ASSERT_EQ(run->at("C"), ProductCases::PlainProduct(arrays)) << program->ToString();

  // Of a sum that nobody asked for the plan was charged what reducing it would send.
  if (!product.wanted && !plan.Final().partial().empty()) return;
  Bytes sent;
  Bytes peak;
  for (std::int64_t rank = 0; rank < mesh.size(); ++rank) {
    for (const auto& [key, bytes] : PredictTraffic(*program, mesh, sizes, rank, choices)) {
      sent += bytes;
    }
    peak = std::max(peak, PeakMemory(*program, mesh, sizes, rank).peak);
  }
  ASSERT_LE(sent, plan.cost.bytes_sent * mesh.size()) << program->ToString();
  bool is_even = true;
  for (const auto& [dim, size] : sizes) is_even = is_even && size % mesh.size() == 0;
  if (is_even) {
    ASSERT_EQ(sent, plan.cost.bytes_sent * mesh.size()) << program->ToString();
    ASSERT_EQ(peak, PeakMemory(*program, mesh, sizes, 0).peak) << program->ToString();
  }
}

TEST(EveryProductOnSmallMeshes, IsThePlainProduct) {
  const char* const given = std::getenv("CHORUS_SEED");
  const std::uint64_t seed = given != nullptr
                                 ? std::strtoull(given, nullptr, 10)
                                 : static_cast<std::uint64_t>(std::time(nullptr) / (24 * 3600));
  const char* const asked = std::getenv("CHORUS_PRODUCTS");
  const std::string option = asked == nullptr ? "150" : asked;
  const bool whole = option.rfind("whole", 0) == 0;
  std::int64_t parts = 1;
  std::int64_t part = 0;
  if (const std::size_t slash = option.find('/'); whole && slash != std::string::npos) {
    parts = std::strtoll(option.c_str() + slash + 1, nullptr, 10);
    part = std::strtoll(option.c_str() + option.rfind('/') + 1, nullptr, 10);
    ASSERT_TRUE(parts > 0 && part >= 0 && part < parts) << option;
  }
  const Choices choices = LeastBytes();
  const std::vector<Mesh> meshes = ProductCases::Meshes();
  const RandomStream draw(seed, "products");
  std::int64_t checked = 0;
  std::int64_t legal = 0;
  if (whole) {
    for (const Mesh& mesh : meshes) {
      const ProductCases cases(mesh);
      std::int64_t first = 0;
      for (std::int64_t i = 0; i < cases.size(); ++i) {
        if (!cases.IsFirst(i) || first++ % parts != part) continue;
        ASSERT_NO_FATAL_FAILURE(CheckCase(cases, i, seed, choices));
        ++checked;
      }
      ASSERT_EQ(first, CountProducts(mesh));
      legal += first;
    }
  } else {
    std::vector<ProductCases> all(meshes.begin(), meshes.end());
    for (; checked < std::strtoll(option.c_str(), nullptr, 10); ++checked) {
      const auto at = static_cast<std::uint64_t>(checked);
      const ProductCases& cases = all[draw.Below(all.size(), at, 0)];
      const auto i =
          static_cast<std::int64_t>(draw.Below(static_cast<std::uint64_t>(cases.size()), at, 1));
      ASSERT_NO_FATAL_FAILURE(CheckCase(cases, i, seed, choices));
    }
  }
  std::printf("%lld products checked, CHORUS_SEED=%llu%s\n", static_cast<long long>(checked),
              static_cast<unsigned long long>(seed),
              whole ? (" of " + std::to_string(legal)).c_str() : "");
}

}  // namespace
}  // namespace chorus
