// LayoutCode: how an array lies while it is resharded, as one number.
//
// Only the axes that move are written down, at most eight, by their numbers: a byte for each says
// which dimension it splits and how many of the other moving axes split that dimension before it.
//
//   A[I_XY, J]{U_Z}, all three moving:   X (0, 0)   Y (0, 1)   Z (sum, 0)
//   after all_to_all I to J over Y:      X (0, 0)   Y (1, 0)   Z (sum, 0)
//
// A step changes the bytes of its axes and no other. Internal to the room. Thread safety: values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace chorus {

inline constexpr std::size_t kMostMovingAxes = 8;
inline constexpr std::size_t kMostReshardDims = 30;

// Axes by number, 0 and up, major to minor. REQUIRES of all: no axis twice.
class AxisRun {
 public:
  const std::uint8_t* begin() const { return axes_.data(); }
  const std::uint8_t* end() const { return axes_.data() + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::uint8_t operator[](std::size_t i) const { return axes_[i]; }

  void Add(std::uint8_t axis) {
    axes_[size_++] = axis;
    mask_ = static_cast<std::uint8_t>(mask_ | 1U << axis);
  }
  AxisRun& operator+=(const AxisRun& other) {
    for (const std::uint8_t axis : other) Add(axis);
    return *this;
  }
  // The first `count` and those from `at` on.
  AxisRun First(std::size_t count) const { return Part(0, count); }
  AxisRun From(std::size_t at) const { return Part(at, size_); }

  bool Contains(std::uint8_t axis) const { return (mask_ >> axis & 1U) != 0; }
  bool ContainsAll(const AxisRun& other) const { return (other.mask_ & ~mask_) == 0; }
  AxisRun Without(const AxisRun& other) const {
    AxisRun rest;
    for (const std::uint8_t axis : *this) {
      if (!other.Contains(axis)) rest.Add(axis);
    }
    return rest;
  }
  // How many axes both begin with.
  std::size_t InCommon(const AxisRun& other) const {
    std::size_t i = 0;
    while (i < size_ && i < other.size_ && axes_[i] == other.axes_[i]) ++i;
    return i;
  }
  bool StartsWith(const AxisRun& start) const { return InCommon(start) == start.size_; }

  friend bool operator==(const AxisRun& a, const AxisRun& b) {
    return a.axes_ == b.axes_ && a.size_ == b.size_;  // behind the end there are zeros
  }

 private:
  AxisRun Part(std::size_t from, std::size_t to) const {
    AxisRun part;
    for (std::size_t i = from; i < to; ++i) part.Add(axes_[i]);
    return part;
  }

  std::array<std::uint8_t, kMostMovingAxes> axes_{};
  std::uint8_t size_ = 0;
  std::uint8_t mask_ = 0;  // a bit for each axis
};

class LayoutCode {
 public:
  static constexpr std::size_t kSum = kMostReshardDims;       // a place: a sum to be done
  static constexpr std::size_t kIdle = kMostReshardDims + 1;  // a place: the array is repeated

  std::uint64_t bits() const { return bits_; }

  std::size_t PlaceOf(std::size_t axis) const { return Byte(axis) >> 3U; }
  std::size_t PositionOf(std::size_t axis) const { return Byte(axis) & 7U; }

  void Put(std::size_t axis, std::size_t place, std::size_t position) {
    const std::uint64_t byte = place << 3U | position;
    bits_ = (bits_ & ~(std::uint64_t{0xff} << 8 * axis)) | byte << 8 * axis;
  }
  // Puts a run behind `before` axes that split the dimension already.
  void PutRun(const AxisRun& run, std::size_t dim, std::size_t before) {
    for (const std::uint8_t axis : run) Put(axis, dim, before++);
  }
  // Sums and idle axes have no order.
  void PutAside(const AxisRun& run, std::size_t place) {
    for (const std::uint8_t axis : run) Put(axis, place, 0);
  }

  friend bool operator==(const LayoutCode&, const LayoutCode&) = default;

 private:
  std::uint64_t Byte(std::size_t axis) const { return bits_ >> 8 * axis & 0xffU; }

  std::uint64_t bits_ = 0;
};

}  // namespace chorus
