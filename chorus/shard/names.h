// Products written with names instead of text: the same products, letter by letter.
//
//   const Axis X("X"), Y("Y");
//   const Dim I("I"), J("J"), K("K");
//   Product p = *(ArrayName("A")(I / X, J) * ArrayName("B")(J, K / Y)).To(ArrayName("C")(I / X, K /
//   Y)); p.ToString()    "A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]"
//
// I / X / Y is I_XY, and ArrayName("A")(I, J).Sum(X) is A[I, J]{U_X}. What is written becomes the
// text, which ParseProduct reads, so that what is refused is refused with the same message. Thread
// safety: value types.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/mesh/spec.h"
#include "chorus/shard/product.h"

namespace chorus {

// A mesh axis, by name.
class Axis {
 public:
  explicit Axis(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

// A dimension, by name, and the axes that split it, major to minor.
class Dim {
 public:
  explicit Dim(std::string name) : text_(std::move(name)) {}
  // Split by one axis more, inside those before it.
  friend Dim operator/(const Dim& dim, const Axis& axis);
  const std::string& text() const { return text_; }  // "I_XY"

 private:
  std::string text_;
  bool split_ = false;
};

// An array and how it lies.
class ArrayTerm {
 public:
  explicit ArrayTerm(std::string text) : text_(std::move(text)) {}
  // Still a sum to be done over these axes.
  template <typename... Axes>
  ArrayTerm Sum(const Axes&... axes) const {
    return ArrayTerm(text_ + "{U_" + (... + axes.name()) + "}");
  }
  // Errors: what Spec::Parse refuses.
  Result<Spec> ToSpec() const { return Spec::Parse(text_); }
  const std::string& text() const { return text_; }  // "A[I_X, J]"

 private:
  std::string text_;
};

// The name of an array, to be followed by its dimensions.
class ArrayName {
 public:
  explicit ArrayName(std::string name) : name_(std::move(name)) {}
  template <typename... Dims>
  ArrayTerm operator()(const Dims&... dims) const {
    return Term({dims.text()...});
  }

 private:
  ArrayTerm Term(const std::vector<std::string>& dims) const;

  std::string name_;
};

// Two to six arrays to be multiplied.
class ProductTerm {
 public:
  explicit ProductTerm(std::string text) : text_(std::move(text)) {}
  friend ProductTerm operator*(const ProductTerm& product, const ArrayTerm& next) {
    return ProductTerm(product.text_ + " * " + next.text());
  }
  // With this result; or with one whose layout the planner chooses. Errors: those of ParseProduct.
  Result<Product> To(const ArrayTerm& result) const {
    return ParseProduct(text_ + " -> " + result.text());
  }
  Result<Product> ToCheapest() const { return ParseProduct(text_); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

inline ProductTerm operator*(const ArrayTerm& a, const ArrayTerm& b) {
  return ProductTerm(a.text() + " * " + b.text());
}

}  // namespace chorus
