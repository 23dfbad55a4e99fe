// The bound: two threads (as many as there are cores, at most one a rank) that only move the data
// of an operation: every input byte is read once, every byte of a result written once, and then
// each result read once by its rank's thread. No library, one barrier between moving and reading.
//
//   bound SOCKET FOLDER SIDE RANKS
//
// Settings: who moves, "push" (each thread its share of every result) or "pull" (each thread all of
// its own ranks' results), and how it stores, "plain", "stream" (past the cache) or "mixed"
// (past it what another thread reads): "push_plain", ... The loops are those of chorus/kernel, so
// that no side has better ones. The best of them is the bound. Also answers "probe" with "probe
// NS": the time a cache line takes from core 0 to core 1, one way.
#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/peers/arena.h"
#include "bench/peers/block.h"
#include "bench/peers/control.h"
#include "bench/peers/data.h"
#include "chorus/kernel/reduce.h"

namespace peers {
namespace {

// How results are stored: through the cache, past it, or past it where another thread reads them.
enum class Stores : std::uint8_t { kPlain, kStream, kMixed };

std::int64_t RoundUp(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

// All threads of one team meet here. Spins.
class SpinBarrier {
 public:
  explicit SpinBarrier(int size) : size_(size) {}
  void Wait() {
    const int round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    while (round_.load(std::memory_order_acquire) == round) _mm_pause();
  }

 private:
  int size_;
  alignas(128) std::atomic<int> arrived_{0};
  alignas(128) std::atomic<int> round_{0};
};

// One movement of an operation: the sum of `from` goes to each of `to`.
struct Move {
  std::vector<int> from;         // ranks whose input is read
  std::vector<int> to;           // ranks whose result is written
  std::int64_t from_offset = 0;  // bytes within the input
  std::int64_t to_offset = 0;    // bytes within the result
  std::int64_t bytes = 0;
};

std::vector<Move> MovesOf(const Block& block, int ranks) {
  std::vector<int> all;
  for (int r = 0; r < ranks; ++r) all.push_back(r);
  const std::int64_t whole = block.bytes;
  const std::int64_t piece = whole / ranks;
  std::vector<Move> moves;
  switch (block.op) {
    case Op::kAllReduce:
      moves.push_back({all, all, 0, 0, whole});
      break;
    case Op::kReduce:
      moves.push_back({all, {0}, 0, 0, whole});
      break;
    case Op::kReduceScatter:
      for (const int r : all) moves.push_back({all, {r}, r * piece, 0, piece});
      break;
    case Op::kAllGather:
      for (const int r : all) moves.push_back({{r}, all, 0, r * piece, piece});
      break;
    case Op::kGather:
      for (const int r : all) moves.push_back({{r}, {0}, 0, r * piece, piece});
      break;
    case Op::kScatter:
      for (const int r : all) moves.push_back({{0}, {r}, r * piece, 0, piece});
      break;
    case Op::kAllToAll:
      for (const int s : all) {
        for (const int r : all) moves.push_back({{s}, {r}, r * piece, s * piece, piece});
      }
      break;
    case Op::kBroadcast:
      moves.push_back({{0}, std::vector<int>(all.begin() + 1, all.end()), 0, 0, whole});
      break;
    case Op::kBarrier:
      break;
  }
  return moves;
}

class Bound {
 public:
  Bound(int ranks, const std::string& folder)
      : ranks_(ranks), team_(std::min(ranks, UsableCores())), barrier_(team_) {
    for (int r = 0; r < ranks; ++r) {
      memory_.push_back(Arena::OfFile(folder + "/../arena-" + std::to_string(r)));
    }
  }

  std::string Run(const Block& block) {
    for (int r = 0; r < ranks_; ++r) {
      if (!memory_[static_cast<std::size_t>(r)].LayOut(block, r, ranks_)) {
        return "cannot hold buffers of " + std::to_string(block.bytes) + " bytes";
      }
    }
    const std::vector<Move> moves = MovesOf(block, ranks_);
    std::vector<double> times;
    std::vector<std::thread> others;
    const std::function<void(int)> body = [&](int t) {
      PinToCore(t);
      std::uint32_t sum = Sample(block, moves, t, 0, block.warmup);
      for (int s = 0; s < block.samples; ++s) {
        barrier_.Wait();
        const double begin = NowNs();
        sum += Sample(block, moves, t, block.warmup + s * block.calls, block.calls);
        barrier_.Wait();
        if (t == 0) times.push_back((NowNs() - begin) / block.calls);
      }
      sink_ += sum;
    };
    for (int t = 1; t < team_; ++t) others.emplace_back(body, t);
    body(0);
    for (std::thread& other : others) other.join();
    turn_ += block.warmup + static_cast<std::int64_t>(block.samples) * block.calls;
    std::string answer = "times";
    for (const double time : times) answer += " " + std::to_string(time);
    return answer;
  }

 private:
  const std::byte* In(int rank, std::int64_t turn) const {
    return memory_[static_cast<std::size_t>(rank)].In(turn);
  }
  std::byte* Out(int rank, std::int64_t turn) const {
    return memory_[static_cast<std::size_t>(rank)].Out(turn);
  }

  std::uint32_t Sample(const Block& block, const std::vector<Move>& moves, int t,
                       std::int64_t begin, int calls) {
    const auto says = [&](const char* word) {
      return block.setting.find(word) != std::string::npos;
    };
    const Stores stores = says("stream")  ? Stores::kStream
                          : says("mixed") ? Stores::kMixed
                                          : Stores::kPlain;
    const bool pull = says("pull");
    std::uint32_t sum = 0;
    for (int k = 0; k < calls; ++k) {
      const std::int64_t turn = turn_ + begin + k;
      for (const Move& move : moves) {
        if (pull) {
          Do(Own(move, t), t, 0, 1, turn, stores);
        } else {
          Do(move, t, t, team_, turn, stores);
        }
      }
      barrier_.Wait();
      for (int r = t; r < ranks_; r += team_) {
        sum += ReadPass(Out(r, turn), CountsOf(block, r, ranks_).out * SizeOf(block.dtype));
      }
    }
    return sum;
  }

  // What of `move` ends at the ranks of thread t.
  Move Own(const Move& move, int t) const {
    Move own = move;
    std::erase_if(own.to, [&](int rank) { return rank % team_ != t; });
    return own;
  }

  // Share `share` of `shares` of one movement, by thread t.
  void Do(const Move& move, int t, int share, int shares, std::int64_t turn, Stores stores) const {
    if (move.to.empty()) return;
    const std::int64_t begin = std::min(move.bytes, RoundUp(move.bytes * share / shares, 64));
    const std::int64_t end = std::min(move.bytes, RoundUp(move.bytes * (share + 1) / shares, 64));
    if (begin >= end) return;
    std::vector<void*> targets;  // those to be streamed last
    std::size_t streamed = 0;
    for (const bool past : {false, true}) {
      for (const int to : move.to) {
        const bool own = to % team_ == t;
        const bool streams = stores == Stores::kStream || (stores == Stores::kMixed && !own);
        if (streams != past) continue;
        targets.push_back(Out(to, turn) + move.to_offset + begin);
        streamed += past ? 1 : 0;
      }
    }
    if (move.from.size() == 1) {
      chorus::Copy(targets, In(move.from[0], turn) + move.from_offset + begin, end - begin,
                   streamed);
      return;
    }
    std::vector<chorus::ReduceSource> sources;
    for (const int from : move.from) {
      sources.push_back({In(from, turn) + move.from_offset + begin, chorus::DType::kF32, false});
    }
    chorus::ReduceArgs args;
    args.sources = sources;
    args.dsts = targets;
    args.count = (end - begin) / 4;
    args.streamed = streamed;
    chorus::Reduce(chorus::KernelSet::kFast, args);
  }

  int ranks_;
  int team_;
  SpinBarrier barrier_;
  std::vector<Arena> memory_;  // by rank
  std::int64_t turn_ = 0;
  std::atomic<std::uint32_t> sink_{0};  // keeps the reading from being left out
};

// Nanoseconds that a line takes from one core to another: the median of 40 batches of 100 round
// trips of one line, halved. About a millisecond.
double ProbeOneWay() {
  if (UsableCores() < 2) return 0;
  constexpr int kBatches = 40;
  constexpr int kTrips = 100;
  struct alignas(128) Ball {
    std::atomic<int> value{0};
  };
  static Ball ball;
  ball.value = 0;
  std::thread other([] {
    PinToCore(1);
    for (int i = 1; i <= kBatches * kTrips; ++i) {
      while (ball.value.load(std::memory_order_acquire) != 2 * i - 1) _mm_pause();
      ball.value.store(2 * i, std::memory_order_release);
    }
  });
  PinToCore(0);
  std::vector<double> one_way;
  for (int batch = 0; batch < kBatches; ++batch) {
    const double begin = NowNs();
    for (int k = 1; k <= kTrips; ++k) {
      const int i = batch * kTrips + k;
      ball.value.store(2 * i - 1, std::memory_order_release);
      while (ball.value.load(std::memory_order_acquire) != 2 * i) _mm_pause();
    }
    one_way.push_back((NowNs() - begin) / (2 * kTrips));
  }
  other.join();
  std::sort(one_way.begin(), one_way.end());
  return one_way[kBatches / 2];
}

int Main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s SOCKET FOLDER SIDE RANKS\n", argv[0]);
    return 2;
  }
  UsableCores();  // before this process is pinned
  GoFirst();
  ControlLine line(argv[1]);
  line.Write("hello " + std::string(argv[3]) + " 0 1");
  Bound bound(std::atoi(argv[4]), argv[2]);
  std::string request;
  while (line.Read(request) && request != "end") {
    Block block;
    if (request == "probe") {
      line.Write("probe " + std::to_string(ProbeOneWay()));
    } else {
      line.Write(ParseBlock(request, block) ? bound.Run(block) : "cannot read: " + request);
    }
  }
  return 0;
}

}  // namespace
}  // namespace peers

int main(int argc, char** argv) { return peers::Main(argc, argv); }
