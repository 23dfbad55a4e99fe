// Random numbers that are functions of what they are for, not of when they are drawn.
//
// A layout cannot change them, recomputation replays them, and no stream can fall out of step: the
// number for element 7 of parameter "w" under seed 1 is the same on every rank of every mesh.
// Source: Philox4x32-10, Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
// Thread safety: pure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace chorus {

// One block of the Philox4x32-10 bijection.
std::array<std::uint32_t, 4> Philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

// The stream of random numbers named (seed, name, step).
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t step = 0);

  // 64 uniform bits for element `index` of global sample `sample`.
  std::uint64_t Bits(std::uint64_t sample, std::uint64_t index = 0) const;
  // Uniform in [0, 1) with 53 bits.
  double Uniform(std::uint64_t sample, std::uint64_t index = 0) const;
  // Uniform in {0, ..., n-1}. REQUIRES: n > 0.
  std::uint64_t Below(std::uint64_t n, std::uint64_t sample, std::uint64_t index = 0) const;
  // Standard normal (Box-Muller).
  double Normal(std::uint64_t sample, std::uint64_t index = 0) const;

 private:
  std::array<std::uint32_t, 4> Block(std::uint64_t sample, std::uint64_t index) const;
  std::array<std::uint32_t, 2> key_;
};

}  // namespace chorus
