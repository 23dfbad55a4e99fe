// Slots: how many questions are answered at once. Others wait for one, not for ever.
//
// Thread safety: any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

namespace chorus::studio {

class Slots {
 public:
  // `count` at once, `most_waiting` behind them.
  Slots(int count, int most_waiting);

  enum class Turn : std::uint8_t {
    kTaken,    // a slot is yours until Give
    kTooMany,  // so many wait already
    kGivenUp,  // `gives_up` said so, or Close
  };
  // Waits for a slot. `gives_up` is asked from time to time, and before the wait begins.
  Turn Take(const std::function<bool()>& gives_up);
  void Give();
  // Who waits now or later is turned away at once.
  void Close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  int free_;
  int may_wait_;
  bool closed_ = false;
};

}  // namespace chorus::studio
