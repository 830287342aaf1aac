// SPDX-License-Identifier: Apache-2.0
// The bookkeeping of GpuShare. What the policy decides is tested with whole clusters, in tests/cases and
// tests/extenders.
#include <gtest/gtest.h>

#include <string>

#include "bookings.hpp"
#include "card_table.hpp"

namespace gpushare {
namespace {

TEST(CardTable, CardsHaveEqualPartsOfTheMemory) {
  CardTable table;
  table.resize(2);
  table.start(0, 32, 2);
  EXPECT_EQ(table.card_count(0), 2u);
  EXPECT_EQ(table.card_size(0), 16);
  EXPECT_EQ(table.free(0, 1), 16);
  EXPECT_EQ(table.most_free()[0], 16);
  EXPECT_EQ(table.most_free()[1], CardTable::k_none);
  table.start(0, 33, 2);
  EXPECT_EQ(table.card_size(0), 16) << "what cannot be shared out is left over";
}

TEST(CardTable, WithoutCardsNothingFits) {
  CardTable table;
  table.resize(1);
  for (const std::int64_t cards : {0, -3}) {
    table.start(0, 32, cards);
    EXPECT_EQ(table.card_count(0), 0u);
    EXPECT_FALSE(table.best_fit(0, 1));
    EXPECT_EQ(table.left_over(0, 1), 0);
  }
}

TEST(CardTable, TheTightestCardIsTheBestAndOfEqualsTheFirst) {
  CardTable table;
  table.resize(1);
  table.start(0, 64, 4);
  EXPECT_EQ(table.best_fit(0, 8), 0u);
  table.use(0, 1, 6);
  table.use(0, 2, 9);
  EXPECT_EQ(table.best_fit(0, 8), 1u);
  EXPECT_EQ(table.left_over(0, 8), 2);
  EXPECT_EQ(table.best_fit(0, 7), 2u);
  EXPECT_EQ(table.left_over(0, 7), 0);
  EXPECT_EQ(table.best_fit(0, 11), 0u);
  EXPECT_FALSE(table.best_fit(0, 17));
  EXPECT_EQ(table.left_over(0, 17), 0);
}

TEST(CardTable, TwoHalvesAreNoWhole) {
  CardTable table;
  table.resize(1);
  table.start(0, 32, 2);
  table.use(0, 0, 8);
  table.use(0, 1, 8);
  EXPECT_EQ(table.most_free()[0], 8);
  EXPECT_FALSE(table.best_fit(0, 12));
  table.use(0, 1, -8);
  EXPECT_EQ(table.best_fit(0, 12), 1u);
}

TEST(CardTable, OverCommittedCardsHoldNothing) {
  CardTable table;
  table.resize(1);
  table.start(0, 16, 1);
  table.use(0, 0, 20);
  EXPECT_EQ(table.most_free()[0], -4);
  EXPECT_FALSE(table.best_fit(0, 1));
  EXPECT_EQ(table.left_over(0, 1), 0);
}

TEST(CardTable, APodOfUnknownCardCountsOnAllAndCardsThatAreNotThereAreIgnored) {
  CardTable table;
  table.resize(1);
  table.start(0, 32, 2);
  table.use_every_card(0, 4);
  table.use(0, 7, 4);
  EXPECT_EQ(table.free(0, 0), 12);
  EXPECT_EQ(table.free(0, 1), 12);
}

TEST(CardTable, UsesNoMoreCardsThanItKnows) {
  CardTable table;
  table.resize(1);
  table.start(0, 100, 100);
  EXPECT_EQ(table.card_count(0), CardTable::k_cards_max);
  EXPECT_EQ(table.card_size(0), 1);
}

TEST(Bookings, RemembersUntilErased) {
  Bookings bookings;
  EXPECT_FALSE(bookings.find("u"));
  bookings.put("u", 3);
  EXPECT_EQ(bookings.find("u"), 3u);
  bookings.put("u", 1);
  EXPECT_EQ(bookings.find("u"), 1u);
  bookings.erase("u");
  EXPECT_FALSE(bookings.find("u"));
}

TEST(Bookings, OfBoundPodsOnlyTheNewestAreRemembered) {
  Bookings bookings;
  bookings.put("waits", 0);
  for (std::size_t i = 0; i < 2 * Bookings::k_bound_max; ++i) {
    const std::string uid = "u" + std::to_string(i);
    bookings.put(uid, 0);
    bookings.bound(uid);
  }
  EXPECT_EQ(bookings.size(), Bookings::k_bound_max + 1);
  EXPECT_TRUE(bookings.find("waits"));
  EXPECT_FALSE(bookings.find("u0"));
}

}  // namespace
}  // namespace gpushare
