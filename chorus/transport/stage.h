// Stage: memory of one rank that every member of its group reads. A rank puts there, tile by tile,
// what the others need of buffers that they cannot reach, and shows how far it has come.
//
//   | words of half 0 | words of half 1 | data of half 0 ... | data of half 1 ... |
//
// Operation #s uses half s mod 2, which is free once all members have finished operation s - 2.
// A word holds the operation and a number of tiles, so that what an earlier operation has left
// behind reads as 0 tiles and nothing need be reset.
//
// Thread safety: one thread of the owner shows, any number read. Whoever has seen a number of tiles
// sees what the owner had stored before it showed them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "chorus/transport/doorbell.h"

namespace chorus {

// What an owner has finished of every tile before it takes the next step of the same kind.
enum class StagePhase : std::uint8_t {
  kFill,  // what others need of its input is in its stage
  kWork,  // what it computes from the stages of others is done
  kTake,  // what others have computed for it is in its buffers
};
inline constexpr std::size_t kStagePhases = 3;

class alignas(128) StageWords {
 public:
  // Tells the readers that `tiles` tiles of operation `sequence` have passed the phase. A post:
  // wakes nobody (Links::PostsAreOut). REQUIRES: 0 <= tiles <= kMostTiles.
  void Show(StagePhase phase, std::uint64_t sequence, std::int64_t tiles) {
    words_[static_cast<std::size_t>(phase)].store(
        sequence << kTileBits | static_cast<std::uint64_t>(tiles), kPostOrder);
  }
  // Tiles of operation `sequence` that have passed the phase; 0 before its first.
  std::int64_t Tiles(StagePhase phase, std::uint64_t sequence) const {
    const std::uint64_t word =
        words_[static_cast<std::size_t>(phase)].load(std::memory_order_seq_cst);
    const bool is_of_it = (word ^ sequence << kTileBits) >> kTileBits == 0;
    return is_of_it ? static_cast<std::int64_t>(word & kMostTiles) : 0;
  }

  static constexpr unsigned kTileBits = 28;
  static constexpr std::int64_t kMostTiles = (std::int64_t{1} << kTileBits) - 1;

 private:
  std::array<std::atomic<std::uint64_t>, kStagePhases> words_{};
};

// The stage of one rank as another sees it, or its own.
struct Stage {
  StageWords* words = nullptr;  // of both halves
  std::byte* data = nullptr;    // on a multiple of 128
  std::int64_t half_bytes = 0;  // a multiple of 128; 0: the transport has no stages

  StageWords& WordsOf(std::uint64_t sequence) const { return words[sequence % 2]; }
  std::byte* DataOf(std::uint64_t sequence) const {
    return data + static_cast<std::int64_t>(sequence % 2) * half_bytes;
  }
};

}  // namespace chorus
