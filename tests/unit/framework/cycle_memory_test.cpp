// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "framework/arena.hpp"
#include "framework/cycle_context.hpp"
#include "framework/profile_runtime.hpp"
#include "unit/cache/cache_fixture.hpp"

namespace berth::framework::testing {
namespace {

TEST(Arena, BeginsWithFourKibibytesAndKeepsItsMemoryForTheNextCycle) {
  Arena arena;
  arena.allocate(100, 8);
  EXPECT_EQ(arena.bytes(), 4u * 1024);
  for (int i = 0; i < 1'000; ++i) arena.allocate(1'000, 64);
  const std::size_t grown = arena.bytes();
  EXPECT_GE(grown, 1'000'000u);
  arena.reset();
  for (int i = 0; i < 1'000; ++i) arena.allocate(1'000, 64);
  EXPECT_EQ(arena.bytes(), grown) << "the next cycle allocates nothing";
  arena.release();
  EXPECT_EQ(arena.bytes(), 0u);
}

struct Contexts : cache::testing::CacheFixture {
  ProfileRuntime profile;
  CyclePool pool{profile};
  model::PodPtr waiting = make_pod("p");
};

TEST(CyclePool, KeepsFewerContextsThanThereEverWere) {
  Contexts f;
  std::vector<CyclePool::Handle> open;
  for (int i = 0; i < 1'000; ++i) open.push_back(f.pool.take());
  open.clear();
  EXPECT_EQ(f.pool.idle(), CyclePool::k_idle_max);
}

TEST(CycleContext, TakesNothingOfOtherPodsIntoItsBinding) {
  Contexts f;
  const CyclePool::Handle context = f.pool.take();
  context->begin(f.waiting, 0, 1, nullptr);
  context->snapshot_arena().allocate(1'000'000, 8);
  context->leave_snapshot();
  EXPECT_EQ(context->snapshot_arena().bytes(), 0u);
  context->snapshot_arena().allocate(1'000'000, 8);
  context->end();
  EXPECT_EQ(context->snapshot_arena().bytes(), 0u) << "nor into the next attempt, where it was much";
}

}  // namespace
}  // namespace berth::framework::testing
