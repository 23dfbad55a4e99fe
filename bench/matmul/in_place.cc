// Is it cheaper to multiply by a block of another rank where it lies than to copy it first?
//
// Two threads, each on a core of its own, are the ranks and read each other's block of B: C[I_X, K]
// = A[I_X, J] . B[J_X, K], f32. In turn, after a barrier and up to the next one:
//
//   gather    both blocks of B are copied into one array, one product
//   chunk     the peer's block is copied, a product with each block
//   in place  a product with each block, the peer's read where it lies
//   reduce    A[I, J_X] (already there) with the own block, and halves of C are exchanged and added
//
// Prints medians in microseconds. There are no messages, so a way's cost is copies and products
// alone.
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "chorus/kernel/matmul.h"

namespace {

using chorus::Flops;
using chorus::KernelSet;
using chorus::MatmulShape;
using Clock = std::chrono::steady_clock;

constexpr std::array<const char*, 4> kWays = {"gather", "chunk", "in place", "reduce"};
constexpr std::int64_t kShapes[][3] = {
    {128, 128, 128},   {256, 256, 256},   {512, 512, 512},   {1024, 1024, 1024}, {2048, 2048, 2048},
    {128, 4096, 4096}, {256, 2048, 2048}, {512, 4096, 1024}, {2048, 256, 2048},  {65536, 256, 256}};

struct Meeting {
  std::atomic<int> arrived{0};
  std::atomic<int> meetings{0};

  void Meet() {
    const int before = meetings.load();
    if (arrived.fetch_add(1) == 1) {
      arrived = 0;
      meetings.fetch_add(1);
      return;
    }
    while (meetings.load() == before) {
    }
  }
};

// One rank's part of one shape.
class Rank {
 public:
  Rank(int rank, std::int64_t i, std::int64_t j, std::int64_t k, float* b, float* c)
      : rank_(rank), rows_(i / 2), j_(j), k_(k), half_(j / 2 * k), b_(b), sums_(c) {
    std::fill_n(Block(rank), half_, 1.0F);
    a_.assign(static_cast<std::size_t>(rows_ * j), 1.0F);
    c_.resize(static_cast<std::size_t>(rows_ * k));
    copy_.resize(static_cast<std::size_t>(2 * half_));
  }

  void Run(std::size_t way, Meeting& meeting) {
    const int peer = 1 - rank_;
    if (way == 0) {
      for (const int r : {rank_, peer}) Copy(Block(r), copy_.data() + r * half_);
      Product({.m = rows_, .n = k_, .k = j_}, a_.data(), copy_.data(), c_.data(), false);
    } else if (way < 3) {
      const MatmulShape part{.m = rows_, .n = k_, .k = j_ / 2, .row_a = j_};
      Product(part, a_.data() + rank_ * (j_ / 2), Block(rank_), c_.data(), false);
      if (way == 1) Copy(Block(peer), copy_.data());
      Product(part, a_.data() + peer * (j_ / 2), way == 1 ? copy_.data() : Block(peer), c_.data(),
              true);
    } else {
      // A has as many elements by columns as by rows.
      float* const mine = sums_ + rank_ * 2 * rows_ * k_;
      Product({.m = 2 * rows_, .n = k_, .k = j_ / 2}, a_.data(), Block(rank_), mine, false);
      meeting.Meet();
      const float* const own = mine + rank_ * rows_ * k_;
      const float* const other = sums_ + (peer * 2 + rank_) * rows_ * k_;
      for (std::int64_t e = 0; e < rows_ * k_; ++e)
        c_[static_cast<std::size_t>(e)] = own[e] + other[e];
    }
  }

  bool IsRight() const { return c_.front() == static_cast<float>(j_) && c_.back() == c_.front(); }

 private:
  float* Block(int rank) { return b_ + rank * half_; }
  void Copy(const float* from, float* to) const {
    std::memcpy(to, from, static_cast<std::size_t>(half_) * sizeof(float));
  }
  void Product(const MatmulShape& shape, const float* a, const float* b, float* c, bool adds) {
    chorus::Matmul<float>(KernelSet::kFast, shape, a, b, c, adds, flops_);
  }

  const int rank_;
  const std::int64_t rows_, j_, k_, half_;
  float* const b_;
  float* const sums_;
  std::vector<float> a_, c_, copy_;
  Flops flops_;
};

void StayOnCore(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

double Median(std::vector<double>& times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

// All shapes, by one of the two ranks. Sets `right` to false if a product is wrong.
void Measure(int rank, Meeting& meeting, float* b, float* c, std::atomic<bool>& right) {
  StayOnCore(rank);
  chorus::SetMatmulThreads(1);
  for (const auto& [i, j, k] : kShapes) {
    Rank mine(rank, i, j, k, b, c);
    std::array<std::vector<double>, kWays.size()> times;
    const double flops = static_cast<double>(i) * static_cast<double>(j) * static_cast<double>(k);
    const int rounds = flops < 1e7 ? 1001 : flops < 1e9 ? 101 : 21;
    for (int round = 0; round <= rounds; ++round) {
      for (std::size_t way = 0; way < kWays.size(); ++way) {
        meeting.Meet();
        const auto begin = Clock::now();
        mine.Run(way, meeting);
        meeting.Meet();
        const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
        if (round > 0) times[way].push_back(us);
        if (!mine.IsRight()) right = false;
      }
    }
    if (rank == 0) {
      const std::string shape =
          std::to_string(i) + " x " + std::to_string(j) + " x " + std::to_string(k);
      std::printf("%22s", shape.c_str());
      std::array<double, kWays.size()> medians{};
      for (std::size_t way = 0; way < kWays.size(); ++way) {
        medians[way] = Median(times[way]);
        std::printf("%12.1f", medians[way]);
      }
      std::printf("%20.3f\n", medians[2] / medians[0]);
      std::fflush(stdout);
    }
    meeting.Meet();
  }
}

}  // namespace

int main() {
  std::int64_t most_b = 0, most_c = 0;
  for (const auto& [i, j, k] : kShapes) {
    most_b = std::max(most_b, j * k);
    most_c = std::max(most_c, 2 * i * k);
  }
  std::vector<float> b(static_cast<std::size_t>(most_b)), c(static_cast<std::size_t>(most_c));
  std::printf("%22s", "I x J x K, us");
  for (const char* way : kWays) std::printf("%12s", way);
  std::printf("%20s\n", "in place / gather");
  Meeting meeting;
  std::atomic<bool> right{true};
  std::thread peer(Measure, 1, std::ref(meeting), b.data(), c.data(), std::ref(right));
  Measure(0, meeting, b.data(), c.data(), right);
  peer.join();
  if (!right) std::fprintf(stderr, "in_place: a product is wrong\n");
  return right ? 0 : 1;
}
