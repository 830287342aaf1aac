// SPDX-License-Identifier: Apache-2.0
// Where records lie: memory goes back when they do, and what stood for a record that is gone stands for no other.
#include <algorithm>
#include <random>
#include <set>

#include "queue/record.hpp"
#include "unit/queue/queue_fixture.hpp"

namespace berth::queue::testing {
namespace {

TEST(RecordTable, ALongQueueGivesItsMemoryBack) {
  RecordTable table;
  std::vector<Record*> records;
  for (int i = 0; i < 10'000; ++i) records.push_back(&table.make());
  EXPECT_GE(table.room(), 10'000U);
  for (Record* record : records) table.give_back(*record);
  EXPECT_EQ(table.room(), RecordTable::k_block_records) << "one block is kept for the next pods";
  const std::uint32_t slot = table.make().slot;
  EXPECT_LT(slot, 10'016U) << "places are taken again before there are more";
  EXPECT_EQ(table.room(), RecordTable::k_block_records);
}

TEST(RecordTable, APodAtATimeNeedsNoMoreMemoryEachTime) {
  RecordTable table;
  Record* const first = &table.make();
  table.give_back(*first);
  for (int i = 0; i < 100; ++i) {
    Record& record = table.make();
    EXPECT_EQ(&record, first);
    table.give_back(record);
  }
}

TEST(RecordTable, AStampOfAFormerRecordOfASlotStaysStale) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](std::size_t below) { return random() % below; };
    RecordTable table;
    std::vector<Record*> living;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> stale;  // slots with stamps, as a heap has them
    bool grows = true;
    for (int step = 0; step < 5'000; ++step) {
      if (pick(500) == 0) grows = !grows;
      if (living.empty() || pick(10) < (grows ? 7U : 3U)) {
        Record& record = table.make();
        ASSERT_EQ(record.place, Place::nowhere);
        record.place = Place::active;
        ++record.stamp;  // it is put into a heap
        ASSERT_EQ(std::count(living.begin(), living.end(), &record), 0);
        living.push_back(&record);
      } else {
        const std::size_t at = pick(living.size());
        stale.emplace_back(living[at]->slot, living[at]->stamp);
        table.give_back(*living[at]);
        living.erase(living.begin() + static_cast<std::ptrdiff_t>(at));
      }
      if (step % 100 != 0) continue;
      for (const auto& [slot, stamp] : stale) {
        const Record* const record = table.find(slot);
        ASSERT_TRUE(record == nullptr || record->stamp != stamp) << "slot " << slot << " at step " << step;
      }
      std::set<const Record*> seen;
      table.for_each([&](const Record& record) { seen.insert(&record); });
      ASSERT_EQ(seen, std::set<const Record*>(living.begin(), living.end())) << "at step " << step;
    }
  }
}

TEST(ReadyHeap, KeepsItsOrderWhileItGivesMemoryBack) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    QueueFixture f(1000.0, {}, seed % 2 == 0);
    std::vector<std::pair<std::int32_t, int>> waiting;  // pods by what comes first: the higher priority, the earlier
    for (int i = 0; i < 2'000; ++i) {
      const auto priority = static_cast<std::int32_t>(random() % 50);
      f.queue->add(make_pod("p" + std::to_string(i), priority));
      waiting.emplace_back(-priority, i);
      f.clock.advance(std::chrono::milliseconds(1));
    }
    for (int i = 0; i < 2'000; i += 7) {  // entries of these stay behind, stale
      f.queue->remove(*make_pod("p" + std::to_string(i)));
      std::erase_if(waiting, [&](const auto& each) { return each.second == i; });
    }
    std::sort(waiting.begin(), waiting.end());
    for (const auto& [priority, i] : waiting) {
      auto ticket = f.queue->pop();
      ASSERT_TRUE(ticket);
      ASSERT_EQ(ticket->pod()->name, "p" + std::to_string(i));
      f.queue->done(std::move(*ticket));
    }
    EXPECT_FALSE(f.queue->pop());
  }
}

}  // namespace
}  // namespace berth::queue::testing
