#include "chorus/probe/speeds.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "chorus/kernel/matmul.h"
#include "chorus/probe/cores.h"

namespace chorus {
namespace {

constexpr int kTrials = 12;
constexpr std::int64_t kSpins = 2000;                      // before the core is given away
constexpr std::int64_t kMemory = std::int64_t{128} << 20;  // bytes, more than caches hold
constexpr std::int64_t kCopied = std::int64_t{32} << 20;   // bytes, by each of two threads

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// What the host can do, whatever else it did during some of the trials.
double Least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

// The first and the last core of this thread's mask.
struct CorePair {
  int first = -1;
  int last = -1;
};

CorePair TwoCores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return {};
  int first = -1, last = -1;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &mask)) continue;
    if (first < 0) first = core;
    last = core;
  }
  return {first, last};
}

// Best effort: where it is not allowed the scheduler's choice is measured.
void StayOn(int core) {
  if (core < 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// Two threads that take turns: a turn ends when the other one sees the new number.
class Turns {
 public:
  void WaitFor(std::int64_t turn) const {
    for (std::int64_t spin = 0; turn_.load(std::memory_order_acquire) != turn; ++spin) {
      if (spin >= kSpins) sched_yield();
    }
  }
  void WaitUntil(std::int64_t turn) const {
    for (std::int64_t spin = 0; turn_.load(std::memory_order_acquire) < turn; ++spin) {
      if (spin >= kSpins) sched_yield();
    }
  }
  void Give(std::int64_t turn) { turn_.store(turn, std::memory_order_release); }

 private:
  alignas(64) std::atomic<std::int64_t> turn_{0};
};

Status NoThread(const std::system_error& error) {
  return ResourceExhausted(std::string("a thread cannot be started: ") + error.what());
}

// Runs `mine` on this thread and `other` on another core, both to their end. This thread stays on
// its core afterwards.
Status OnTwoCores(const CorePair& cores, const std::function<void()>& mine,
                  const std::function<void()>& other) {
  try {
    std::thread there([&] {
      StayOn(cores.last);
      other();
    });
    StayOn(cores.first);
    mine();
    there.join();
  } catch (const std::system_error& error) {
    return NoThread(error);
  }
  return OkStatus();
}

// A line goes to and fro `kRounds` times.
Result<Seconds> OneWay(const CorePair& cores) {
  constexpr std::int64_t kRounds = 4000;
  Turns turns;
  std::vector<double> seconds;
  CHORUS_RETURN_IF_ERROR(OnTwoCores(
      cores,
      [&] {
        for (std::int64_t trial = 0; trial < kTrials; ++trial) {
          const auto begin = Clock::now();
          for (std::int64_t k = trial * kRounds; k < (trial + 1) * kRounds; ++k) {
            turns.Give(2 * k + 1);
            turns.WaitFor(2 * k + 2);
          }
          seconds.push_back(SecondsSince(begin) / (2.0 * kRounds));
        }
      },
      [&] {
        for (std::int64_t k = 0; k < kTrials * kRounds; ++k) {
          turns.WaitFor(2 * k + 1);
          turns.Give(2 * k + 2);
        }
      }));
  return Seconds(Least(seconds));
}

// Each trial the other thread writes a buffer and this one copies it out.
Result<BytesPerSecond> HandOver(const CorePair& cores) {
  std::vector<unsigned char> written(kHandedOver), copied(kHandedOver);
  Turns turns;
  std::vector<double> seconds;
  CHORUS_RETURN_IF_ERROR(OnTwoCores(
      cores,
      [&] {
        for (std::int64_t k = 0; k < kTrials; ++k) {
          turns.WaitFor(2 * k + 1);
          const auto begin = Clock::now();
          std::memcpy(copied.data(), written.data(), kHandedOver);
          seconds.push_back(SecondsSince(begin));
          turns.Give(2 * k + 2);
        }
      },
      [&] {
        for (std::int64_t k = 0; k < kTrials; ++k) {
          std::memset(written.data(), static_cast<int>(k), kHandedOver);
          turns.Give(2 * k + 1);
          turns.WaitFor(2 * k + 2);
        }
      }));
  return BytesPerSecond(static_cast<double>(kHandedOver) / Least(seconds));
}

// Each trial both threads begin together.
Result<BytesPerSecond> Copy(const CorePair& cores) {
  Turns mine_began, other_began;
  std::vector<double> seconds;
  const auto run = [&](Turns& began, const Turns& others, std::vector<double>* times) {
    const std::vector<unsigned char> from(kCopied, 1);
    std::vector<unsigned char> to(kCopied);
    for (std::int64_t k = 1; k <= kTrials; ++k) {
      began.Give(k);
      others.WaitUntil(k);
      const auto begin = Clock::now();
      std::memcpy(to.data(), from.data(), kCopied);
      if (times != nullptr) times->push_back(SecondsSince(begin));
    }
  };
  CHORUS_RETURN_IF_ERROR(OnTwoCores(
      cores, [&] { run(mine_began, other_began, &seconds); },
      [&] { run(other_began, mine_began, nullptr); }));
  return BytesPerSecond(static_cast<double>(kCopied) / Least(seconds));
}

BytesPerSecond Read() {
  const std::vector<std::uint64_t> memory(kMemory / sizeof(std::uint64_t), 1);
  std::vector<double> seconds;
  std::uint64_t sum = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto begin = Clock::now();
    // Four sums, so that the loop waits for memory and not for the adder.
    std::uint64_t a = 0, b = 0, c = 0, d = 0;
    for (std::size_t i = 0; i < memory.size(); i += 4) {
      a += memory[i];
      b += memory[i + 1];
      c += memory[i + 2];
      d += memory[i + 3];
    }
    sum += a + b + c + d;
    seconds.push_back(SecondsSince(begin));
  }
  // What was read is used: a sum of ones.
  const bool right = sum == kTrials * memory.size();
  return BytesPerSecond(right ? static_cast<double>(kMemory) / Least(seconds) : 0);
}

FlopsPerSecond Product() {
  constexpr std::int64_t kSide = 512;
  const std::vector<float> a(kSide * kSide, 0.5F), b(kSide * kSide, 0.25F);
  std::vector<float> c(kSide * kSide);
  MatmulShape shape;
  shape.m = shape.n = shape.k = kSide;
  SetMatmulThreads(1);
  Flops executed(0);
  std::vector<double> seconds;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto begin = Clock::now();
    Matmul(KernelSet::kFast, shape, a.data(), b.data(), c.data(), false, executed);
    seconds.push_back(SecondsSince(begin));
  }
  return FlopsPerSecond(static_cast<double>(shape.flops().value()) / Least(seconds));
}

}  // namespace

Result<HostSpeeds> MeasureHostSpeeds() {
  HostSpeeds speeds;
  speeds.cores = UsableCores();
  const CorePair cores = TwoCores();  // before any thread is pinned
  Status failed;
  // On a thread of its own: where it is pinned, and how many threads a product has, ends with it.
  const auto measure = [&] {
    const Result<Seconds> one_way = OneWay(cores);
    const Result<BytesPerSecond> hand_over = HandOver(cores);
    const Result<BytesPerSecond> copy = Copy(cores);
    for (const Status& status : {one_way.status(), hand_over.status(), copy.status()}) {
      if (failed.ok()) failed = status;
    }
    if (!failed.ok()) return;
    speeds.one_way = *one_way;
    speeds.hand_over = *hand_over;
    speeds.copy = *copy;
    speeds.read = Read();
    speeds.product = Product();
  };
  try {
    std::thread(measure).join();
  } catch (const std::system_error& error) {
    return NoThread(error);
  }
  CHORUS_RETURN_IF_ERROR(failed);
  return speeds;
}

}  // namespace chorus
