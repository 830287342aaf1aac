// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <malloc.h>

#include "cycle/reuse/class_entry.hpp"

namespace berth::cycle::testing {
namespace {

constexpr std::size_t k_mib = std::size_t{1} << 20;

/// That many classes, each used once, in a cluster of that many nodes.
void use_classes(ClassCache& cache, std::uint64_t classes, std::size_t node_count) {
  for (std::uint64_t pod_class = 1; pod_class <= classes; ++pod_class) {
    (void)cache.entry(pod_class);
    cache.settle(pod_class, node_count);
  }
}

TEST(ClassCache, KeepsWhatWasUsedLast) {
  ClassCache cache({.most_bytes = 1});
  use_classes(cache, 3, 1000);
  EXPECT_EQ(cache.counts().evictions, 2u);
  (void)cache.entry(3);
  EXPECT_EQ(cache.counts().hits, 1u);
  (void)cache.entry(2);
  EXPECT_EQ(cache.counts().hits, 1u) << "it went before";
}

// Pods with labels of their own make a class each: a table for the largest clusters would fill in any.
TEST(ClassCache, TakesMemoryByTheSizeOfTheCluster) {
  constexpr ClassCacheBudget k_budget{.most_bytes = 64 * k_mib, .bytes_per_node = 6'144};
  ClassCache small(k_budget), middle(k_budget), large(k_budget);
  constexpr std::uint64_t k_classes = 30'000;
  use_classes(small, k_classes, 10);
  use_classes(middle, k_classes, 1'000);
  use_classes(large, k_classes, 10'000);
  EXPECT_LE(small.bytes(), 4 * k_mib);
  EXPECT_GT(small.counts().evictions, 0u);
  EXPECT_GT(middle.bytes(), 5 * k_mib);
  EXPECT_LE(middle.bytes(), 1'000 * std::size_t{6'144});
  EXPECT_GT(middle.counts().evictions, 0u);
  EXPECT_EQ(large.counts().evictions, 0u);
  EXPECT_GT(large.bytes(), 8 * k_mib);
}

TEST(ClassCache, CountsWhatTheHeapGives) {
  const std::size_t before = mallinfo2().uordblks;
  if (before == 0) GTEST_SKIP() << "the heap of a sanitizer does not say what it gave";
  ClassCache cache({.most_bytes = 64 * k_mib});
  use_classes(cache, 30'000, 1000);
  const std::size_t taken = mallinfo2().uordblks - before;
  EXPECT_LE(taken, cache.bytes() + cache.bytes() / 10);
  EXPECT_GE(taken, cache.bytes() - cache.bytes() / 5);
}

}  // namespace
}  // namespace berth::cycle::testing
