// SPDX-License-Identifier: Apache-2.0
#include "app/recording/recording_times.hpp"

#include "record_fixture.hpp"
#include "recording/state.hpp"

namespace berth::app {
namespace {

using recording::Kind;
using recording::Record;

constexpr std::int64_t k_second_ns = 1'000'000'000;

class TimesOfARecording : public RecordCommands {
 protected:
  RecordingTimes times(const std::string& path) {
    Result<RecordingTimes> found = read_times(path);
    EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
    return found.ok() ? *found : RecordingTimes{};
  }
  static std::int64_t sum(const RecordingTimes& times, std::int64_t RecordingTimes::Slice::*part) {
    std::int64_t all = 0;
    for (const RecordingTimes::Slice& slice : times.slices) all += slice.*part;
    return all;
  }
  /// Of the cluster after all of them.
  static std::int64_t waiting(const std::vector<Record>& records) {
    recording::State state;
    state.begin_run();
    for (const Record& record : records) state.apply(record);
    const std::vector<Record> whole = state.records(0);
    return std::count_if(whole.begin(), whole.end(), [](const Record& each) { return each.kind == Kind::waiting_pod; });
  }
};

TEST_F(TimesOfARecording, HoldAllDecisionsAndThePodsThatWait) {
  simulate();
  const RecordingTimes found = times(recording());
  const std::string said = info();
  EXPECT_EQ(sum(found, &RecordingTimes::Slice::decisions), number(said, "decisions"));
  EXPECT_EQ(sum(found, &RecordingTimes::Slice::without_node), number(said, "decisions") - number(said, "placed"));
  ASSERT_FALSE(found.slices.empty());
  EXPECT_EQ(found.slices.back().pending, waiting(records()));
}

TEST_F(TimesOfARecording, AreFewSlicesHoweverLongItIs) {
  simulate();
  std::vector<Record> all = records();
  const std::int64_t decisions = sum(times(recording()), &RecordingTimes::Slice::decisions);
  const std::size_t half = all.size() / 2;
  for (std::size_t i = half; i < all.size(); ++i) all[i].at_ns += 100'000 * k_second_ns;
  const RecordingTimes found = times(segment(all));
  EXPECT_LE(found.slices.size(), 240);
  EXPECT_GE(found.slices.size(), 100);
  EXPECT_GE(found.to_ms - found.from_ms, 100'000'000);
  EXPECT_EQ(sum(found, &RecordingTimes::Slice::decisions), decisions);
  EXPECT_EQ(found.slices[found.slices.size() / 2].pending,
            waiting({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(half)}))
      << "while nothing is recorded, as many wait";
  EXPECT_EQ(found.slices.back().pending, waiting(all));
}

TEST_F(TimesOfARecording, SayWhereTheClusterIsNotKnown) {
  simulate();
  std::vector<Record> all = records();
  Record gap = mark(Kind::gap, all.back().at_ns + k_second_ns);
  gap.count = 7;
  all.push_back(gap);
  const RecordingTimes found = times(segment(all));
  EXPECT_GE(found.slices.front().pending, 0);
  EXPECT_EQ(found.slices.back().pending, -1);
}

TEST_F(TimesOfARecording, SayWhoRejectedAndWhatCallsTook) {
  simulate();
  const RecordingTimes found = times(recording());
  std::map<std::string, RecordingTimes::Work> sums;
  for (const RecordingTimes::Slice& slice : found.slices)
    for (std::size_t i = 0; i < slice.plugins.size(); ++i) {
      sums[found.plugins.at(i)].rejections += slice.plugins[i].rejections;
      sums[found.plugins.at(i)].took_ns += slice.plugins[i].took_ns;
    }
  std::map<std::string, std::int64_t> rejections, took_ns;
  for (const Record& record : records()) {
    if (record.rejected)
      for (const std::string& plugin : record.rejected->rejectors) ++rejections[plugin];
    if (record.plugin_times)
      for (const recording::PluginTime& time : *record.plugin_times)
        took_ns[time.plugin] += static_cast<std::int64_t>(time.took_ns);
    EXPECT_EQ(record.attempt.took_ns, 0) << "the clock of a simulation stands";
  }
  ASSERT_FALSE(rejections.empty());
  ASSERT_GT(took_ns["NodeResourcesFit"], 0);
  for (const auto& [plugin, count] : rejections) EXPECT_EQ(sums[plugin].rejections, count) << plugin;
  for (const auto& [plugin, ns] : took_ns) EXPECT_EQ(sums[plugin].took_ns, ns) << plugin;
}

TEST_F(TimesOfARecording, SayHowLongDecisionsTook) {
  simulate();
  std::vector<Record> all = records();
  std::int64_t decisions = 0;
  for (Record& record : all)
    if (record.kind == Kind::attempt) record.attempt.took_ns = 1'000 * ++decisions;
  ASSERT_GT(decisions, 1);
  const RecordingTimes found = times(segment(all));
  EXPECT_EQ(sum(found, &RecordingTimes::Slice::took_ns), 1'000 * decisions * (decisions + 1) / 2);
  std::int64_t longest_ns = 0;
  for (const RecordingTimes::Slice& slice : found.slices) longest_ns = std::max(longest_ns, slice.longest_ns);
  EXPECT_EQ(longest_ns, 1'000 * decisions);
}

TEST_F(TimesOfARecording, AreReadAgainOnceItsFilesAreOthers) {
  simulate();
  const std::vector<Record> all = records();
  const std::string path = segment(all);
  RememberedTimes remembered(path);
  const auto decisions = [&]() -> std::int64_t {
    const Result<const RecordingTimes*> found = remembered.read();
    return found.ok() ? sum(**found, &RecordingTimes::Slice::decisions) : -1;
  };
  const std::int64_t whole = decisions();
  ASSERT_GT(whole, 1);
  const auto written_at = std::filesystem::last_write_time(path);
  const std::uintmax_t bytes = std::filesystem::file_size(path);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(0) << "not a recording";
  std::filesystem::last_write_time(path, written_at);
  EXPECT_EQ(decisions(), whole) << "it looks as it did, and is not read";
  std::filesystem::last_write_time(path, written_at + std::chrono::seconds(1));
  EXPECT_EQ(decisions(), -1);
  std::filesystem::last_write_time(path, written_at);
  EXPECT_EQ(decisions(), -1) << "of what cannot be read nothing is remembered";
  const auto half = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  ASSERT_EQ(segment({all.begin(), half}), path);
  ASSERT_LT(std::filesystem::file_size(path), bytes);
  EXPECT_LT(decisions(), whole);
}

TEST_F(TimesOfARecording, FailWhereThereIsNone) {
  EXPECT_FALSE(read_times(folder).ok());
  EXPECT_FALSE(read_times(folder + "/nosuch").ok());
}

}  // namespace
}  // namespace berth::app
