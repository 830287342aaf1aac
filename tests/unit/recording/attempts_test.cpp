// SPDX-License-Identifier: Apache-2.0
// Attempts come to the writer another way than all else: what stands where in the recording is as if there were one.
#include <atomic>
#include <future>
#include <random>
#include <thread>

#include "recording/tick_times.hpp"
#include "recording_fixture.hpp"

namespace berth::recording {
namespace {

class AttemptsInFiles : public RecordingFixture {
 protected:
  /// What was recorded, a word each: "n 1", "attempt 2", "look".
  std::vector<std::string> words() {
    std::vector<std::string> out;
    for (const Record& record : read()) {
      if (record.kind == Kind::description) continue;
      if (record.kind == Kind::attempt)
        out.push_back("attempt " + std::to_string(record.attempt.number));
      else
        out.push_back(record.kind == Kind::node_gone ? record.text : std::string(name_of(record.kind)));
    }
    return out;
  }
  void place(Recorder& recorder, std::uint32_t number) {
    recorder.add_attempt(web, node, nullptr, {.number = number}, {});
  }

  const Symbol node = symbols.intern("node-1");
  const model::PodPtr web = pod("web-1");
};

TEST_F(AttemptsInFiles, RecordsAndAttemptsKeepTheirOrder) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::filesystem::remove_all(folder);
    std::mt19937 random(seed);
    const auto one_of = [&](unsigned count) { return random() % count; };
    std::vector<std::string> wanted;
    {
      auto recorder = start({.period = std::chrono::hours(1)});
      const auto changes = [&] {
        for (unsigned i = one_of(3); i > 0; --i) {
          wanted.push_back("n " + std::to_string(wanted.size()));
          recorder->add(of(Kind::node_gone, wanted.back()));
          if (one_of(4) == 0) recorder->flush();
        }
        if (one_of(4) == 0) recorder->flush();
      };
      for (std::uint32_t number = 1; number <= 40; ++number) {
        changes();
        if (one_of(5) != 0) {  // a plan's members have one look together
          recorder->note_look();
          wanted.emplace_back("look");
        }
        changes();
        switch (one_of(4)) {
          case 0:
            recorder->add_attempt(web, k_no_symbol, std::make_shared<Rejected>(), {.number = number}, {});
            break;
          case 1:
            recorder->add_attempt(web, node, nullptr, {.number = number, .needed = 2, .way = Way::planned}, {});
            break;
          default:
            place(*recorder, number);
        }
        wanted.push_back("attempt " + std::to_string(number));
      }
    }
    EXPECT_EQ(words(), wanted);
  }
}

TEST_F(AttemptsInFiles, ARemovedNodeIsKeptUntilTheAttemptsBeforeItsRemovalAreWritten) {
  auto recorder = start({.period = std::chrono::hours(1)});
  auto removed = std::make_shared<const model::Node>();
  const std::weak_ptr<const model::Node> is_there = removed;
  place(*recorder, 1);
  recorder->hold(std::move(removed));
  EXPECT_FALSE(is_there.expired());
  recorder->flush();
  EXPECT_TRUE(is_there.expired());
}

TEST_F(AttemptsInFiles, ThreadsThatWaitedForEachOtherStandInThatOrder) {
  constexpr std::uint32_t k_attempts = 5'000;
  constexpr std::size_t k_adders = 2;
  std::atomic<std::uint32_t> decided{0};
  std::array<std::atomic<std::uint32_t>, k_adders> added{};
  {
    auto recorder = start({.period = std::chrono::milliseconds(1), .waits_for_room = true});
    const auto add = [&](std::size_t adder) {
      for (std::uint32_t i = 0; decided < k_attempts; ++i) {
        recorder->add(of(Kind::node_gone, std::to_string(adder) + " " + std::to_string(decided)));
        added[adder] = i + 1;
      }
    };
    std::array<std::thread, k_adders> adders{std::thread(add, 0), std::thread(add, 1)};
    for (std::uint32_t number = 1; number <= k_attempts; ++number) {
      const std::uint32_t first = added[0], second = added[1];
      recorder->note_look();
      recorder->add_attempt(web, node, nullptr, {.number = number, .evaluated = first, .feasible = second}, {});
      decided = number;
    }
    for (std::thread& adder : adders) adder.join();
  }
  std::array<std::uint32_t, k_adders> seen{};
  std::uint32_t attempts = 0, looks = 0;
  for (const Record& record : read()) {
    if (record.kind == Kind::node_gone) {
      ++seen.at(static_cast<std::size_t>(record.text.front() - '0'));
      ASSERT_GE(attempts, std::stoul(record.text.substr(2))) << "it was added after that attempt";
    } else if (record.kind == Kind::look) {
      ++looks;
    } else if (record.kind == Kind::attempt) {
      ASSERT_EQ(record.attempt.number, ++attempts);
      ASSERT_GE(looks, attempts) << "it has its look";
      ASSERT_GE(seen[0], record.attempt.evaluated) << "these were added before it";
      ASSERT_GE(seen[1], record.attempt.feasible);
    }
  }
  EXPECT_EQ(attempts, k_attempts);
  EXPECT_EQ(looks, k_attempts);
}

TEST_F(AttemptsInFiles, LargeNumbersAndGroupAttemptsAreRecordedExactly) {
  const std::vector<Attempt> given{{.number = 1, .evaluated = 100, .feasible = 7, .rotation = 42, .total = -5},
                                   {.number = UINT32_MAX,
                                    .evaluated = UINT32_MAX,
                                    .feasible = UINT32_MAX,
                                    .rotation = UINT32_MAX,
                                    .total = INT32_MAX},
                                   {.number = 2, .rotation = std::uint64_t{1} << 32},
                                   {.number = 3, .total = std::int64_t{INT32_MAX} + 1},
                                   {.number = 4, .total = std::int64_t{INT32_MIN} - 1},
                                   {.number = 5, .needed = 3, .members_left = 2, .way = Way::planned},
                                   {.number = 6, .way = Way::unplanned},
                                   {.number = 7, .took_ns = 8}};
  {
    auto recorder = start();
    for (const Attempt& each : given) recorder->add_attempt(web, node, nullptr, each, {});
  }
  const std::vector<Record> left = read(Kind::attempt);
  ASSERT_EQ(left.size(), given.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    const Attempt &a = given[i], &b = left[i].attempt;
    EXPECT_EQ(
        std::tie(a.number, a.evaluated, a.feasible, a.needed, a.members_left, a.way, a.rotation, a.took_ns, a.total),
        std::tie(b.number, b.evaluated, b.feasible, b.needed, b.members_left, b.way, b.rotation, b.took_ns, b.total))
        << i;
    EXPECT_EQ(left[i].text, "node-1");
  }
}

/// Holds the writer up at the first object that it comes to.
class HeldWriter {
 public:
  RecorderOptions options(bool waits_for_room = false) {
    RecorderOptions options;
    options.period = std::chrono::hours(1);
    options.waits_for_room = waits_for_room;
    options.object_fields = [this](std::string_view) {
      is_there_.set_value();
      goes_on_.get_future().wait();
      return std::vector<std::string>();
    };
    return options;
  }
  /// Returns when the writer has taken all that was added before, and waits.
  void hold(Recorder& recorder) {
    auto object = std::make_shared<model::Object>();
    object->resource = "persistentvolumes";
    object->name = "volume";
    object->json = "{}";
    recorder.add(record_with(Kind::object, &Record::object, model::ObjectPtr(std::move(object))));
    flushed_ = std::async(std::launch::async, [&recorder] { recorder.flush(); });
    is_there_.get_future().wait();
  }
  void go_on() {
    goes_on_.set_value();
    flushed_.get();
  }

 private:
  std::promise<void> is_there_, goes_on_;
  std::future<void> flushed_;
};

TEST_F(AttemptsInFiles, AFullRingOfAttemptsUsesTheQueueOfRecordsAndCountsTheRestAsDropped) {
  constexpr auto k_kept = static_cast<std::uint32_t>(AttemptRing::k_entries + Recorder::k_waiting_max);
  HeldWriter writer;
  {
    auto recorder = start(writer.options());
    writer.hold(*recorder);
    for (std::uint32_t number = 1; number <= k_kept; ++number) place(*recorder, number);
    EXPECT_EQ(recorder->counts().dropped, 0u);
    for (std::uint32_t number = 1; number <= 10; ++number) place(*recorder, k_kept + number);
    EXPECT_EQ(recorder->counts().dropped, 10u);
    writer.go_on();
    recorder->flush();
    place(*recorder, k_kept + 11);
  }
  const std::vector<std::string> left = words();
  ASSERT_EQ(left.size(), k_kept + 3);
  EXPECT_EQ(left[0], "object");
  for (std::uint32_t number = 1; number <= k_kept; ++number)
    ASSERT_EQ(left[number], "attempt " + std::to_string(number));
  EXPECT_EQ(left[k_kept + 1], "gap");
  EXPECT_EQ(left[k_kept + 2], "attempt " + std::to_string(k_kept + 11));
  EXPECT_EQ(read(Kind::gap).at(0).count, 10u);
}

TEST_F(AttemptsInFiles, AfterAGapNoAttemptComesBeforeIt) {
  HeldWriter writer;
  {
    auto recorder = start(writer.options());
    writer.hold(*recorder);
    place(*recorder, 1);
    for (std::size_t i = 0; i <= Recorder::k_waiting_max; ++i) recorder->add(of(Kind::state_ends));
    EXPECT_EQ(recorder->counts().dropped, 1u);
    place(*recorder, 2);  // it may have seen what was dropped
    EXPECT_EQ(recorder->counts().dropped, 2u);
    writer.go_on();
    recorder->flush();
    place(*recorder, 3);
  }
  std::vector<std::string> left = words();
  left.erase(std::remove(left.begin(), left.end(), "state_ends"), left.end());
  EXPECT_EQ(left, (std::vector<std::string>{"object", "attempt 1", "gap", "attempt 3"}));
  EXPECT_EQ(read(Kind::gap).at(0).count, 2u);
}

TEST_F(AttemptsInFiles, AfterTheEndTheyAreCounted) {
  auto recorder = start();
  place(*recorder, 1);
  recorder->stop();
  place(*recorder, 2);
  EXPECT_EQ(recorder->counts().dropped, 1u);
  EXPECT_EQ(words(), (std::vector<std::string>{"attempt 1"}));
}

TEST_F(AttemptsInFiles, TimesFromTicksAgreeWithTheClock) {
  const std::int64_t start_ns = clock.monotonic_ns();
  {
    auto recorder = start({.period = std::chrono::hours(1), .follows_ticks = true});
    recorder->flush();
    for (std::uint32_t number = 1; number <= 100; ++number) {
      recorder->add_attempt(web, node, nullptr, {.number = number}, start_ns - 5'000'000);
      clock.advance(std::chrono::microseconds(10));
      if (number % 30 == 0) recorder->flush();
    }
  }
  const std::vector<Record> left = read(Kind::attempt);
  ASSERT_EQ(left.size(), 100u);
  std::int64_t last_ns = start_ns;
  for (const Record& each : left) {
    const std::uint32_t before = (each.attempt.number - 1) / 30 * 30;  // when it was flushed for the last time
    EXPECT_GE(each.at_ns, start_ns + before * 10'000);
    EXPECT_LE(each.at_ns, start_ns + std::min(before + 30, 100u) * 10'000);
    EXPECT_GE(each.at_ns, last_ns);
    EXPECT_EQ(each.attempt.took_ns, each.at_ns - start_ns + 5'000'000);
    last_ns = each.at_ns;
  }
}

TEST(TickTimes, LieBetweenTheMomentsThatAreKnown) {
  TickTimes times({1'000, 500});
  EXPECT_EQ(times.ns_of(7), 500);
  times.note({3'000, 1'500});
  EXPECT_EQ(times.ns_of(1'000), 500);
  EXPECT_EQ(times.ns_of(1'500), 750);
  EXPECT_EQ(times.ns_of(3'000), 1'500);
  EXPECT_EQ(times.ns_of(999), 500) << "before the first";
  EXPECT_EQ(times.ns_of(4'000), 1'500) << "after the last";
  times.note({5'000, 10'001'500});
  EXPECT_EQ(times.ns_of(4'000), 5'001'500);
  times.note({2'000, 10'002'500});
  EXPECT_EQ(times.ns_of(2'100), 10'001'500) << "the counter went back";
}

}  // namespace
}  // namespace berth::recording
