// SPDX-License-Identifier: Apache-2.0
#include "access/review_cache.hpp"

#include <gtest/gtest.h>

#include <string>

namespace berth::app {
namespace {

constexpr std::size_t k_bytes_max = 64 << 10;
constexpr std::int64_t k_stale_ns = 100;
using Cache = access::ReviewCache<int>;

TEST(ReviewCache, NeverTakesMoreThanItsBudgetAndForgetsWhatWasUsedLongestAgo) {
  Cache cache(k_bytes_max, k_stale_ns);
  const Cache::Key used = *cache.key_of("used"), unused = *cache.key_of("unused");
  cache.keep(used, 1, 0, 10, 0);
  cache.keep(unused, 2, 0, 10, 0);
  for (int i = 0; i < 10'000; ++i) {
    cache.keep(*cache.key_of(std::to_string(i)), i, static_cast<std::size_t>(i % 1000), 10, 0);
    EXPECT_LE(cache.bytes(), k_bytes_max);
    ASSERT_NE(cache.find(used), nullptr) << i;
  }
  EXPECT_EQ(cache.find(used)->value, 1);
  EXPECT_EQ(cache.find(unused), nullptr);
  EXPECT_EQ(cache.size() + cache.dropped(), 10'002U);
  cache.keep(*cache.key_of("huge"), 3, k_bytes_max, 10, 0);
  EXPECT_EQ(cache.find(*cache.key_of("huge")), nullptr);
}

TEST(ReviewCache, AnAnswerIsReplacedAndWhatIsStaleGoes) {
  Cache cache(k_bytes_max, k_stale_ns);
  const Cache::Key one = *cache.key_of("one"), two = *cache.key_of("two");
  cache.keep(one, 1, 100, 10, 0);
  const std::size_t bytes = cache.bytes();
  cache.keep(one, 2, 100, 20, 0);
  EXPECT_EQ(cache.bytes(), bytes);
  EXPECT_EQ(cache.find(one)->value, 2);
  EXPECT_EQ(cache.find(one)->until_ns, 20) << "the caller judges that";
  cache.keep(two, 3, 100, 200, 120);
  EXPECT_EQ(cache.size(), 2U);
  cache.keep(two, 3, 100, 200, 121);
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_EQ(cache.find(one), nullptr);
}

TEST(ReviewCache, LongTextsHaveNoKeyAndEachCacheHasKeysOfItsOwn) {
  const Cache cache(k_bytes_max, k_stale_ns), other(k_bytes_max, k_stale_ns);
  EXPECT_TRUE(cache.key_of(std::string(10'000, 'x')));
  EXPECT_FALSE(cache.key_of(std::string(10'001, 'x')));
  EXPECT_EQ(cache.key_of("x"), cache.key_of("x"));
  EXPECT_NE(cache.key_of("x"), cache.key_of("y"));
  EXPECT_NE(cache.key_of("x"), other.key_of("x"));
}

TEST(StrangerReviews, AreBoundedAtOnceAndPerSecond) {
  access::StrangerReviews reviews;
  for (int i = 0; i < access::StrangerReviews::k_at_once; ++i) EXPECT_TRUE(reviews.begin(0));
  EXPECT_FALSE(reviews.begin(0)) << "so many are under way";
  reviews.end();
  for (int i = 0; i < access::StrangerReviews::k_burst - access::StrangerReviews::k_at_once; ++i) {
    EXPECT_TRUE(reviews.begin(0)) << i;
    reviews.end();
  }
  EXPECT_FALSE(reviews.begin(0));
  EXPECT_FALSE(reviews.begin(40'000'000));
  EXPECT_TRUE(reviews.begin(60'000'000));
  EXPECT_EQ(reviews.refused(), 3U);
}

}  // namespace
}  // namespace berth::app
