#include "chorus/base/random.h"

#include <cmath>
#include <numbers>

#include "chorus/base/fnv.h"

namespace chorus {
namespace {

std::uint64_t MixWords(std::uint64_t a, std::uint64_t b) {
  // splitmix64's finaliser over a + golden ratio * b.
  std::uint64_t z = a + 0x9e3779b97f4a7c15u * (b + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::uint32_t Low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t High(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

}  // namespace

std::array<std::uint32_t, 4> Philox4x32(std::array<std::uint32_t, 4> c,
                                        std::array<std::uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c[2];
    c = {High(p1) ^ c[1] ^ k[0], Low(p1), High(p0) ^ c[3] ^ k[1], Low(p0)};
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return c;
}

RandomStream::RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t step) {
  const std::uint64_t key = MixWords(MixWords(Fnv1a(name), seed), step);
  key_ = {Low(key), High(key)};
}

std::array<std::uint32_t, 4> RandomStream::Block(std::uint64_t sample, std::uint64_t index) const {
  return Philox4x32({Low(index), High(index), Low(sample), High(sample)}, key_);
}

std::uint64_t RandomStream::Bits(std::uint64_t sample, std::uint64_t index) const {
  const auto block = Block(sample, index);
  return std::uint64_t{block[1]} << 32 | block[0];
}

double RandomStream::Uniform(std::uint64_t sample, std::uint64_t index) const {
  return static_cast<double>(Bits(sample, index) >> 11) * 0x1p-53;
}

std::uint64_t RandomStream::Below(std::uint64_t n, std::uint64_t sample,
                                  std::uint64_t index) const {
  // The high word of bits * n (Lemire): bias below n / 2^64.
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(Bits(sample, index)) * n >> 64);
}

double RandomStream::Normal(std::uint64_t sample, std::uint64_t index) const {
  const auto block = Block(sample, index);
  const std::uint64_t a = std::uint64_t{block[1]} << 32 | block[0];
  const std::uint64_t b = std::uint64_t{block[3]} << 32 | block[2];
  const double u = (static_cast<double>(a >> 11) + 1.0) * 0x1p-53;  // in (0, 1]
  const double v = static_cast<double>(b >> 11) * 0x1p-53;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

}  // namespace chorus
