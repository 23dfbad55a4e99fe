// Every product C[I, K] = A[I, J] . B[J, K] on every small mesh: for tests.
//
// On a mesh of up to three axes of 1 to 3 ranks and at most 8 ranks together, A and B lie in every
// way (each axis splits one of the dimensions, in any order with others, or is a sum to be done, or
// is not used), and C is asked for in every way or left open. Cases that differ only in the names
// of axes of one size are one. Dimensions of 1 to 9 are drawn from (seed, case).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/mesh/mesh.h"
#include "chorus/mesh/spec.h"
#include "chorus/program/plain_array.h"
#include "chorus/shard/product.h"

namespace chorus {

class ProductCases {
 public:
  explicit ProductCases(Mesh mesh) : mesh_(std::move(mesh)) {
    const std::size_t k = mesh_.axes().size();
    for (std::size_t a = 0; a < k; ++a) names_.push_back(mesh_.axes()[a].name);
    std::size_t codes = 1;
    for (std::size_t a = 0; a < k; ++a) codes *= 4;
    for (std::size_t code = 0; code < codes; ++code) {
      std::vector<AxisNames> at(4);  // on the first dimension, on the second, sums, unused
      for (std::size_t a = 0, rest = code; a < k; ++a, rest /= 4) at[rest % 4].push_back(names_[a]);
      std::sort(at[0].begin(), at[0].end());
      do {
        std::sort(at[1].begin(), at[1].end());
        do {
          layouts_.push_back({at[0], at[1], at[2]});
        } while (std::next_permutation(at[1].begin(), at[1].end()));
      } while (std::next_permutation(at[0].begin(), at[0].end()));
    }
    FindRenamings();
  }

  // The meshes, one of each multiset of sizes.
  static std::vector<Mesh> Meshes() {
    std::vector<Mesh> meshes = {Mesh()};
    for (std::int64_t x = 1; x <= 3; ++x) {
      meshes.push_back(*Mesh::Create({{"X", x}}));
      for (std::int64_t y = x; y <= 3; ++y) {
        if (x * y <= 8) meshes.push_back(*Mesh::Create({{"X", x}, {"Y", y}}));
        for (std::int64_t z = y; z <= 3; ++z) {
          if (x * y * z <= 8) meshes.push_back(*Mesh::Create({{"X", x}, {"Y", y}, {"Z", z}}));
        }
      }
    }
    return meshes;
  }

  const Mesh& mesh() const { return mesh_; }
  std::size_t layouts() const { return layouts_.size(); }
  // All triples of layouts, renamed ones included; the last layout of C is "left open".
  std::int64_t size() const {
    const auto n = static_cast<std::int64_t>(layouts_.size());
    return n * n * (n + 1);
  }

  // True of one case among those that differ by names.
  bool IsFirst(std::int64_t i) const {
    const auto [a, b, c] = Split(i);
    for (const std::vector<std::size_t>& renamed : renamings_) {
      const std::size_t c2 = c == layouts_.size() ? c : renamed[c];
      if (std::make_tuple(renamed[a], renamed[b], c2) < std::make_tuple(a, b, c)) return false;
    }
    return true;
  }

  Product At(std::int64_t i) const {
    const auto [a, b, c] = Split(i);
    Product product;
    product.operands = {Lie(a, "A", "I", "J"), Lie(b, "B", "J", "K")};
    product.result = Spec::Whole("C", {"I", "K"});
    if (c < layouts_.size()) product.wanted = Lie(c, "C", "I", "K");
    return product;
  }

  // Sizes of 1 to 9.
  static DimSizes SizesOf(std::uint64_t seed, std::int64_t i) {
    const RandomStream draw(seed, "sizes");
    const auto at = static_cast<std::uint64_t>(i);
    DimSizes sizes;
    for (const char* dim : {"I", "J", "K"}) {
      sizes[dim] = 1 + static_cast<std::int64_t>(draw.Below(9, at, sizes.size()));
    }
    return sizes;
  }

  // Whole numbers, so that every order of adding gives the same.
  static std::map<std::string, PlainArray> ArraysOf(const DimSizes& sizes) {
    std::map<std::string, PlainArray> arrays;
    arrays["A"] = Filled(Shape({sizes.at("I"), sizes.at("J")}), 0);
    arrays["B"] = Filled(Shape({sizes.at("J"), sizes.at("K")}), 0);
    int next = 5;
    for (auto& [name, array] : arrays) {
      for (double& x : array.elements) x = (next = (next * 37 + 11) % 101) - 50;
    }
    return arrays;
  }
  static PlainArray PlainProduct(const std::map<std::string, PlainArray>& arrays) {
    const PlainArray& a = arrays.at("A");
    const PlainArray& b = arrays.at("B");
    PlainArray c = Filled(Shape({a.shape[0], b.shape[1]}), 0);
    for (std::int64_t i = 0; i < a.shape[0]; ++i) {
      for (std::int64_t j = 0; j < a.shape[1]; ++j) {
        for (std::int64_t k = 0; k < b.shape[1]; ++k) {
          c.elements[static_cast<std::size_t>(i * b.shape[1] + k)] +=
              a.elements[static_cast<std::size_t>(i * a.shape[1] + j)] *
              b.elements[static_cast<std::size_t>(j * b.shape[1] + k)];
        }
      }
    }
    return c;
  }

 private:
  struct Layout {
    AxisNames first, second, partial;
    friend bool operator==(const Layout&, const Layout&) = default;
  };

  std::tuple<std::size_t, std::size_t, std::size_t> Split(std::int64_t i) const {
    const auto n = static_cast<std::int64_t>(layouts_.size());
    return {static_cast<std::size_t>(i / (n + 1) / n), static_cast<std::size_t>(i / (n + 1) % n),
            static_cast<std::size_t>(i % (n + 1))};
  }

  Spec Lie(std::size_t layout, const char* name, const char* first, const char* second) const {
    const Layout& at = layouts_[layout];
    return *Spec::Create(name, {{first, at.first}, {second, at.second}}, at.partial);
  }

  // Of every permutation of the axes that keeps their sizes: which layout becomes which.
  void FindRenamings() {
    std::vector<std::size_t> to(names_.size());
    for (std::size_t a = 0; a < to.size(); ++a) to[a] = a;
    do {
      bool keeps = true;
      for (std::size_t a = 0; a < to.size(); ++a) {
        keeps = keeps && mesh_.axes()[a].size == mesh_.axes()[to[a]].size;
      }
      if (!keeps) continue;
      const auto rename = [&](AxisNames axes, bool sort) {
        for (std::string& axis : axes) {
          axis = names_[to[static_cast<std::size_t>(std::find(names_.begin(), names_.end(), axis) -
                                                    names_.begin())]];
        }
        if (sort) std::sort(axes.begin(), axes.end());
        return axes;
      };
      std::vector<std::size_t> becomes;
      for (const Layout& at : layouts_) {
        const Layout renamed = {rename(at.first, false), rename(at.second, false),
                                rename(at.partial, true)};
        becomes.push_back(static_cast<std::size_t>(
            std::find(layouts_.begin(), layouts_.end(), renamed) - layouts_.begin()));
      }
      renamings_.push_back(std::move(becomes));
    } while (std::next_permutation(to.begin(), to.end()));
  }

  Mesh mesh_;
  AxisNames names_;
  std::vector<Layout> layouts_;
  std::vector<std::vector<std::size_t>> renamings_;
};

// Calls `check` with `count` cases drawn by (seed, name) from all meshes, up to the first fatal
// failure.
template <typename Check>
void ForEachDrawn(std::uint64_t seed, const char* name, std::uint64_t count, Check check) {
  const RandomStream draw(seed, name);
  const std::vector<Mesh> meshes = ProductCases::Meshes();
  const std::vector<ProductCases> all(meshes.begin(), meshes.end());
  for (std::uint64_t k = 0; k < count && !testing::Test::HasFatalFailure(); ++k) {
    const ProductCases& cases = all[draw.Below(all.size(), k, 0)];
    const auto i =
        static_cast<std::int64_t>(draw.Below(static_cast<std::uint64_t>(cases.size()), k, 1));
    check(cases.At(i), cases.mesh(), ProductCases::SizesOf(seed, i));
  }
}

}  // namespace chorus
