// Shape: the sizes of an array, slowest dimension first (row-major).
//
// Thread safety: value type.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace chorus {

class Shape {
 public:
  Shape() = default;  // a scalar: no dimensions, one element
  Shape(std::initializer_list<std::int64_t> sizes) : sizes_(sizes) {}
  explicit Shape(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {}

  int rank() const { return static_cast<int>(sizes_.size()); }
  std::int64_t operator[](int i) const { return sizes_[static_cast<std::size_t>(i)]; }
  const std::vector<std::int64_t>& sizes() const { return sizes_; }

  // Product of all sizes; 1 for a scalar, 0 if any size is 0.
  std::int64_t elements() const;
  // Product of the sizes of dimensions [begin, end).
  std::int64_t elements(int begin, int end) const;

  std::string ToString() const;  // "[4, 1024]"

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<std::int64_t> sizes_;
};

}  // namespace chorus
