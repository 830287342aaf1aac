// SPDX-License-Identifier: Apache-2.0
// The recorder's budgets: bytes on disk, records that wait, and files that cannot be written.
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "recording_fixture.hpp"

namespace berth::recording {
namespace {

using RecorderFiles = RecordingFixture;

TEST_F(RecorderFiles, TheOldestSegmentsGoFirst) {
  std::uint64_t removed = 0;
  {
    auto recorder = start({.total_bytes = k_total_bytes_min, .waits_for_room = true});
    for (int i = 0; i < 20'000; ++i) {
      Record record = of(Kind::node_gone, "a-node-with-a-rather-long-name-so-that-segments-fill-" + std::to_string(i));
      recorder->add(std::move(record));
    }
    recorder->flush();
    removed = recorder->counts().removed_segments;
  }
  EXPECT_GT(removed, 0u);
  EXPECT_EQ(removed, number_in(segments().front().filename().string()) - 1);
  std::size_t bytes = 0;
  for (const auto& path : segments()) bytes += std::filesystem::file_size(path);
  EXPECT_LE(bytes, k_total_bytes_min);
  EXPECT_GT(bytes, k_total_bytes_min / 2);
  const std::vector<Record> left = read(Kind::node_gone);
  ASSERT_FALSE(left.empty());
  EXPECT_GT(left.front().text, "a-node-with-a-rather-long-name-so-that-segments-fill-0");
  EXPECT_EQ(left.back().text, "a-node-with-a-rather-long-name-so-that-segments-fill-19999");
  EXPECT_EQ(problems.size(), 0u);
}

TEST_F(RecorderFiles, AfterOldSegmentsAreRemovedARunBeginsWithAGap) {
  {
    auto recorder = start({.total_bytes = k_total_bytes_min, .waits_for_room = true});
    for (int i = 0; i < 20'000; ++i)
      recorder->add(of(Kind::node_gone, "a-node-with-a-rather-long-name-so-that-segments-fill-" + std::to_string(i)));
  }
  const std::vector<Record> left = read();
  ASSERT_GT(left.size(), 2u);
  EXPECT_EQ(left[0].kind, Kind::description);
  EXPECT_EQ(left[1].kind, Kind::gap);
  EXPECT_EQ(read(Kind::gap).size(), 1u);
}

TEST_F(RecorderFiles, TheBeginningOfAStateThatIsMissingIsAnOrdinaryRecord) {
  // A file may say that a whole cluster follows, and have none.
  std::string file = header_bytes({1, 1, 0, 0});
  append_frame(file, std::string{static_cast<char>(Kind::state_begins), 0});
  Reader reader = Reader::of_bytes(file, "hostile", symbols);
  Record mark;
  ASSERT_TRUE(reader.next(mark));
  ASSERT_EQ(mark.kind, Kind::state_begins);
  {
    auto recorder = start();
    recorder->add(mark);
    recorder->add(of(Kind::node_gone, "after"));
  }
  EXPECT_EQ(read(Kind::state_begins).size(), 1u);
  EXPECT_TRUE(read(Kind::state_ends).empty());
  EXPECT_EQ(read(Kind::node_gone).size(), 1u);
}

TEST_F(RecorderFiles, ALaterRunGoesOnWhereTheOneBeforeEnded) {
  start()->add(of(Kind::node_gone, "first"));
  start()->add(of(Kind::node_gone, "second"));
  EXPECT_EQ(segments().size(), 2u);
  const std::vector<Record> left = read(Kind::node_gone);
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[1].text, "second");
  EXPECT_TRUE(read(Kind::gap).empty());
}

TEST_F(RecorderFiles, ADirectoryBelongsToOneProcess) {
  const auto first = start();
  const auto second = Recorder::start({.directory = folder}, symbols, clock);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("another process records there"), std::string::npos);
}

TEST_F(RecorderFiles, APathThatCannotBeWrittenIsAnError) {
  const auto started = Recorder::start({.directory = "/proc/berth-recorder"}, symbols, clock);
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find("/proc/berth-recorder"), std::string::npos);
}

TEST_F(RecorderFiles, ADescriptionThatFillsASegmentIsAnError) {
  const auto started = Recorder::start(
      {.directory = folder, .total_bytes = k_total_bytes_min, .description_json = std::string(100'000, ' ')}, symbols,
      clock);
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find("100000 bytes is too large"), std::string::npos);
}

TEST_F(RecorderFiles, RecordsThatFitInNoSegmentTakeFewOfTheOthersWithThem) {
  {
    auto recorder = start({.total_bytes = k_total_bytes_min, .waits_for_room = true});
    recorder->add(of(Kind::node_gone, "first"));
    for (int i = 0; i < 10; ++i) recorder->add(of(Kind::node_gone, std::string(100'000, 'x')));
    recorder->add(of(Kind::node_gone, "last"));
  }
  const std::vector<Record> left = read(Kind::node_gone);
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left.front().text, "first");
  EXPECT_EQ(left.back().text, "last");
  std::uint64_t missing = 0;
  for (const Record& gap : read(Kind::gap)) missing += gap.count;
  EXPECT_EQ(missing, 10u);
}

TEST_F(RecorderFiles, OtherFilesOfTheDirectoryAreLeftAlone) {
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/berth-notes.rec") << "mine";
  start()->add(of(Kind::look));
  EXPECT_EQ(bytes_of(folder + "/berth-notes.rec"), "mine");
  EXPECT_EQ(read(Kind::look).size(), 1u);
}

TEST_F(RecorderFiles, RecordsThatFindNoRoomAreCountedInAGap) {
  {
    auto recorder = start({.period = std::chrono::hours(1)});
    const std::string large(100'000, 'x');
    for (int i = 0; i < 100; ++i) recorder->add(of(Kind::node_gone, large));
    recorder->flush();
    recorder->add(of(Kind::look));
    recorder->flush();
    const RecorderCounts counts = recorder->counts();
    EXPECT_GT(counts.dropped, 0u);
    EXPECT_LT(counts.dropped, 100u);
  }
  const std::vector<Record> gaps = read(Kind::gap);
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].count + read(Kind::node_gone).size(), 100u);
}

/// The kinds of what was recorded, with the texts of nodes that went.
std::vector<std::string> lines_of(const std::vector<Record>& records) {
  std::vector<std::string> out;
  for (const Record& record : records)
    if (record.kind != Kind::description)
      out.push_back(record.kind == Kind::node_gone ? record.text : std::string(name_of(record.kind)));
  return out;
}

TEST_F(RecorderFiles, ALookSeparatesChangesThatItsDecisionSawFromLaterOnes) {
  const Symbol node = symbols.intern("node-1");
  {
    auto recorder = start({.period = std::chrono::hours(1)});
    recorder->note_look();  // nothing was seen, and nothing comes of it
    recorder->add(of(Kind::node_gone, "seen"));
    recorder->note_look();
    recorder->add(of(Kind::node_gone, "not seen"));
    clock.advance(std::chrono::microseconds(30));
    const std::int64_t began_ns = clock.monotonic_ns();
    clock.advance(std::chrono::microseconds(7));
    recorder->add_attempt(pod("web-1"), node, nullptr, {.number = 3}, began_ns);
    recorder->add_attempt(pod("web-2"), k_no_symbol, std::make_shared<Rejected>(), {.number = 4}, {});
  }
  const std::vector<Record> left = read();
  EXPECT_EQ(lines_of(left), (std::vector<std::string>{"seen", "look", "not seen", "attempt", "attempt"}));
  ASSERT_EQ(left.size(), 6u);
  EXPECT_EQ(left[4].text, "node-1");
  EXPECT_EQ(left[4].pod->name, "web-1");
  EXPECT_EQ(left[4].attempt.number, 3u);
  EXPECT_EQ(left[4].attempt.took_ns, 7'000);
  EXPECT_EQ(left[5].attempt.took_ns, 0);
  EXPECT_NE(left[5].rejected, nullptr);
}

TEST_F(RecorderFiles, ALookThatIsFlushedBeforeItsAttemptIsWrittenOnce) {
  const Symbol node = symbols.intern("node-1");
  {
    auto recorder = start({.period = std::chrono::hours(1)});
    recorder->add(of(Kind::node_gone, "seen"));
    recorder->note_look();
    recorder->add(of(Kind::node_gone, "not seen"));
    recorder->flush();
    recorder->add(of(Kind::node_gone, "not seen either"));
    recorder->add_attempt(pod("web-1"), node, nullptr, {}, {});
    recorder->note_look();
    recorder->flush();  // with nothing but the look
    recorder->add(of(Kind::node_gone, "later"));
    recorder->add_attempt(pod("web-1"), node, nullptr, {}, {});
  }
  EXPECT_EQ(lines_of(read()), (std::vector<std::string>{"seen", "look", "not seen", "not seen either", "attempt",
                                                        "look", "later", "attempt"}));
}

/// A file system without room, as a limit of this process: writes beyond it fail.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : before_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_handler_);
  }

 private:
  rlimit before_{};
  void (*before_handler_)(int);
};

TEST_F(RecorderFiles, RecordsAreDroppedWhileTheDiskIsFull) {
  {
    auto recorder = start();
    recorder->add(of(Kind::node_gone, "before"));
    recorder->flush();
    {
      const FileSizeLimit full(1000);
      for (int i = 0; i < 100; ++i) recorder->add(of(Kind::node_gone, "while the disk is full, " + std::to_string(i)));
      recorder->flush();
      recorder->add(of(Kind::node_gone, "soon after"));
      recorder->flush();
      EXPECT_EQ(recorder->counts().write_failures, 1u);
      EXPECT_EQ(recorder->counts().dropped, 101u);
    }
    clock.advance(Recorder::k_retry + std::chrono::seconds(1));
    recorder->add(of(Kind::node_gone, "after"));
  }
  const std::vector<Record> left = read();
  EXPECT_EQ(std::count_if(left.begin(), left.end(), [](const Record& r) { return r.text == "before"; }), 1);
  EXPECT_EQ(left.back().text, "after");
  const auto gap = std::find_if(left.begin(), left.end(), [](const Record& r) { return r.count == 101; });
  EXPECT_NE(gap, left.end());
}

TEST_F(RecorderFiles, AFullDiskKeepsWhatWasRecorded) {
  auto recorder = start({.total_bytes = k_total_bytes_min, .waits_for_room = true});
  for (int i = 0; i < 20'000; ++i)
    recorder->add(of(Kind::node_gone, "a-node-with-a-rather-long-name-so-that-segments-fill-" + std::to_string(i)));
  recorder->flush();
  const auto kept = [&] {
    std::vector<std::pair<std::string, std::size_t>> out;
    for (const auto& path : segments()) out.emplace_back(path.filename().string(), std::filesystem::file_size(path));
    return out;
  };
  const auto before = kept();
  ASSERT_GT(before.size(), 10u);
  for (const rlim_t bytes : {20, 60, 1'000}) {
    const FileSizeLimit full(bytes);
    for (int i = 0; i < 20; ++i) {
      clock.advance(Recorder::k_retry + std::chrono::seconds(1));
      recorder->add(of(Kind::node_gone, std::string(2'000, 'x')));
      recorder->flush();
    }
  }
  EXPECT_EQ(kept(), before);
  EXPECT_GE(recorder->counts().write_failures, 60u);
  clock.advance(Recorder::k_retry + std::chrono::seconds(1));
  recorder->add(of(Kind::node_gone, "after"));
  recorder.reset();
  EXPECT_EQ(segments().back().filename().string(), segment_name(number_in(before.back().first) + 1));
  EXPECT_EQ(read(Kind::node_gone).back().text, "after");
  EXPECT_EQ(problems.size(), 0u);
}

TEST_F(RecorderFiles, RunsThatWriteLittleKeepWhatOthersWrote) {
  for (int i = 0; i < 40; ++i) start()->add(of(Kind::node_gone, "run " + std::to_string(i)));
  EXPECT_EQ(read(Kind::node_gone).size(), 40u);
}

TEST_F(RecorderFiles, NamesThatAreNoneOfItsSegmentsDoNotStopIt) {
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/berth-ffffffffffffffff.rec") << "x";
  for (int i = 1; i < 20; ++i) std::filesystem::create_directory(folder + "/" + segment_name(static_cast<unsigned>(i)));
  for (int i = 0; i < 3; ++i) {
    auto recorder = start({.total_bytes = k_total_bytes_min, .waits_for_room = true});
    for (int k = 0; k < 7'000; ++k)
      recorder->add(of(Kind::node_gone, "a-node-with-a-rather-long-name-so-that-segments-fill-" + std::to_string(k)));
    recorder->flush();
    EXPECT_EQ(recorder->counts().write_failures, 0u);
    EXPECT_EQ(recorder->counts().dropped, 0u);
  }
  EXPECT_GT(read(Kind::node_gone).size(), 10'000u);
  EXPECT_TRUE(std::filesystem::exists(folder + "/berth-ffffffffffffffff.rec"));
}

TEST_F(RecorderFiles, NamesOfSegmentsToComeMayBeTakenMeanwhile) {
  auto recorder = start({.total_bytes = k_total_bytes_min, .waits_for_room = true});
  recorder->add(of(Kind::node_gone, "first"));
  recorder->flush();
  const std::uint64_t number = number_in(segments().back().filename().string());
  for (std::uint64_t i = 1; i <= 3; ++i)
    ASSERT_EQ(::mkfifo((folder + "/" + segment_name(number + i)).c_str(), 0600), 0) << "as a plugin may";
  for (int i = 0; i < 4'000; ++i)
    recorder->add(of(Kind::node_gone, "a-node-with-a-rather-long-name-so-that-segments-fill-" + std::to_string(i)));
  recorder->flush();
  EXPECT_EQ(recorder->counts().write_failures, 0u);
  EXPECT_EQ(recorder->counts().dropped, 0u);
  EXPECT_GT(number_in(segments().back().filename().string()), number + 3);
}

TEST_F(RecorderFiles, ADirectoryThatIsGoneIsMadeAgain) {
  auto recorder = start();
  recorder->add(of(Kind::node_gone, "before"));
  recorder->flush();
  std::filesystem::remove_all(folder);
  recorder->add(of(Kind::node_gone, "into a file that is gone"));
  recorder->flush();
  EXPECT_EQ(recorder->counts().write_failures, 1u);
  EXPECT_EQ(recorder->counts().dropped, 1u);
  clock.advance(Recorder::k_retry + std::chrono::seconds(1));
  recorder->add(of(Kind::node_gone, "after"));
  recorder.reset();
  const std::vector<Record> left = read();
  ASSERT_EQ(left.empty(), false);
  EXPECT_EQ(left.back().text, "after");
  EXPECT_EQ(read(Kind::node_gone).size(), 1u);
}

TEST_F(RecorderFiles, WhatCallsIntoPluginsTookIsThereEachTenSecondsAndAtTheEnd) {
  RecorderOptions options;
  std::uint64_t calls = 0;
  options.plugin_times = [&calls] {
    calls += calls + 1;  // 1, 3, 7
    return std::vector<PluginTime>{{"NodeName", "filter", 5, 50}, {"NodeResourcesFit", "filter", calls, calls * 1'000}};
  };
  auto recorder = start(std::move(options));
  const auto after_a_period = [&] {
    clock.advance(Recorder::k_plugin_times_period);
    recorder->flush();
    return read(Kind::plugin_times);
  };
  const auto decide = [&] {
    recorder->add_attempt(pod("web-1"), symbols.intern("node-1"), nullptr, {}, std::nullopt);
    recorder->flush();
  };
  recorder->add(of(Kind::node_gone, "nothing is decided yet"));
  EXPECT_TRUE(after_a_period().empty());
  decide();
  decide();
  std::vector<Record> times = read(Kind::plugin_times);
  ASSERT_EQ(times.size(), 1u) << "the period was over";
  EXPECT_EQ(*times[0].plugin_times,
            (std::vector<PluginTime>{{"NodeName", "filter", 5, 50}, {"NodeResourcesFit", "filter", 1, 1'000}}));
  EXPECT_EQ(times[0].count, std::chrono::nanoseconds(Recorder::k_plugin_times_period).count());
  times = after_a_period();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(*times[1].plugin_times, (std::vector<PluginTime>{{"NodeResourcesFit", "filter", 2, 2'000}}))
      << "what came since the first";
  EXPECT_EQ(after_a_period().size(), 2u) << "nothing was decided since";
  decide();
  EXPECT_EQ(read(Kind::plugin_times).size(), 3u);
  decide();
  recorder.reset();
  times = read(Kind::plugin_times);
  ASSERT_EQ(times.size(), 4u) << "and at the end";
  EXPECT_NE(json_of(times[1]).find(R"("inNs":10000000000,"pluginTimes":{"all":[{"plugin":"NodeResourcesFit",)"
                                   R"("point":"filter","calls":2,"tookNs":2000}]})"),
            std::string::npos)
      << json_of(times[1]);
}

TEST_F(RecorderFiles, TheWholeClusterIsAskedForBeforeItsRecordsGo) {
  Recorder* self = nullptr;
  std::atomic<int> asked = 0;
  RecorderOptions options{.total_bytes = k_total_bytes_min};
  options.add_state = [&] {
    ++asked;
    WholeCluster whole;
    whole.waiting.push_back(pod("web-1"));
    self->add_state(std::move(whole));
  };
  auto recorder = start(std::move(options));
  self = recorder.get();
  for (int i = 0; i < 20'000; ++i) {
    recorder->add(of(Kind::node_gone, "a-node-with-a-rather-long-name-so-that-segments-fill-" + std::to_string(i)));
    if (i % 1000 == 0) recorder->flush();
  }
  recorder.reset();
  EXPECT_GE(asked, 2);
  const std::vector<Record> left = read();
  const auto begins =
      std::find_if(left.begin(), left.end(), [](const Record& r) { return r.kind == Kind::state_begins; });
  ASSERT_NE(begins, left.end());
  EXPECT_LT(begins - left.begin(), static_cast<std::ptrdiff_t>(left.size() / 2));
  EXPECT_EQ((begins + 1)->kind, Kind::waiting_pod);
  EXPECT_EQ((begins + 2)->kind, Kind::state_ends);
}

TEST_F(RecorderFiles, AWholeClusterThatDoesNotComeIsAskedForAgain) {
  Recorder* self = nullptr;
  std::atomic<int> asked = 0;
  RecorderOptions options{.total_bytes = k_total_bytes_min};
  options.add_state = [&] {
    const int before = asked++;
    if (before == 0) return;
    if (before == 1) throw 7;  // no std::exception, either
    self->add_state({});
  };
  auto recorder = start(std::move(options));
  self = recorder.get();
  const auto more = [&] {
    for (int i = 0; i < 100; ++i) recorder->add(of(Kind::node_gone, std::string(300, 'x')));
    recorder->flush();
  };
  for (int i = 0; i < 100 && asked == 0; ++i) more();
  for (int i = 1; i < 3; ++i) {
    recorder->flush();
    EXPECT_EQ(asked, i);  // not at once
    clock.advance(Recorder::k_retry);
    recorder->flush();  // it is asked for after this is written
    recorder->flush();
  }
  EXPECT_EQ(asked, 3);
  recorder.reset();
  EXPECT_EQ(read(Kind::state_ends).size(), 1u);
}

}  // namespace
}  // namespace berth::recording
