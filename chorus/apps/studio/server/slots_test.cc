#include "chorus/apps/studio/server/slots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace chorus::studio {
namespace {

bool Patient() { return false; }

TEST(Slots, NoMoreAtOnceThanThereAre) {
  Slots slots(2, 100);
  std::atomic<int> inside = 0, most = 0, served = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&] {
      ASSERT_EQ(slots.Take(Patient), Slots::Turn::kTaken);
      const int now = ++inside;
      int seen = most;
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      std::this_thread::yield();
      --inside;
      ++served;
      slots.Give();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served, 20);
  EXPECT_LE(most, 2);
}

TEST(Slots, WhoFindsTooManyWaitingIsTurnedAway) {
  Slots one(1, 1);
  ASSERT_EQ(one.Take(Patient), Slots::Turn::kTaken);
  std::atomic<bool> leave = false, waits = false;
  std::thread waiting([&] {
    EXPECT_EQ(one.Take([&] { return waits = true, leave.load(); }), Slots::Turn::kGivenUp);
  });
  while (!waits) std::this_thread::yield();
  EXPECT_EQ(one.Take(Patient), Slots::Turn::kTooMany);
  leave = true;
  waiting.join();
  one.Give();
  EXPECT_EQ(one.Take(Patient), Slots::Turn::kTaken);
}

TEST(Slots, CloseTurnsAwayWhoWaits) {
  Slots slots(1, 8);
  ASSERT_EQ(slots.Take(Patient), Slots::Turn::kTaken);
  std::thread waiting([&] { EXPECT_EQ(slots.Take(Patient), Slots::Turn::kGivenUp); });
  slots.Close();
  waiting.join();
  slots.Give();
  EXPECT_EQ(slots.Take(Patient), Slots::Turn::kGivenUp);
}

}  // namespace
}  // namespace chorus::studio
