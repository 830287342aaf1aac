// SPDX-License-Identifier: Apache-2.0
// Recordings that have lost a part, contradict themselves, or say what no berth says.
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include "app/commands/explain_command.hpp"
#include "app/commands/supervised.hpp"
#include "app/recording/recorded_moment.hpp"
#include "app/recording/recorder_directory.hpp"
#include "app/simulate/policy_run.hpp"
#include "record_fixture.hpp"
#include "recording/state.hpp"

namespace berth::app {
namespace {

using recording::Kind;
using recording::Record;
using ChangedRecording = RecordCommands;

std::size_t times(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Where the attempt of that number stands, from 0 on.
std::size_t attempt_at(const std::vector<Record>& records, int number) {
  std::size_t at = 0;
  for (; at < records.size(); ++at)
    if (records[at].kind == Kind::attempt && number-- == 0) break;
  return at;
}

Record* attempt_of(std::vector<Record>& records, std::string_view pod) {
  const auto found = std::find_if(records.begin(), records.end(), [&](const Record& record) {
    return record.kind == Kind::attempt && record.pod->key() == pod;
  });
  return found == records.end() ? nullptr : &*found;
}

/// So many pods got a node "as recorded" when all that came in was decided from the beginning.
std::int64_t placed_as_recorded(const std::string& replayed) {
  const std::string before = R"({"name":"as recorded","placed":)";
  const std::size_t at = replayed.find(before);
  return at == std::string::npos ? -1 : std::atoll(replayed.c_str() + at + before.size());
}

/// What is left of a recording whose oldest segments were removed: a change of one node, and then the whole cluster.
std::vector<Record> rolled(const std::vector<Record>& records) {
  recording::State state;
  state.begin_run();
  const std::size_t half = attempt_at(records, 20);
  std::vector<Record> left{records.front()};
  for (std::size_t i = 0; i < half; ++i) {
    state.apply(records[i]);
    if (records[i].kind == Kind::node && left.size() == 1) left.push_back(records[i]);
  }
  for (const Record& each : state.records(records[half].at_ns)) left.push_back(each);
  left.insert(left.end(), records.begin() + static_cast<std::ptrdiff_t>(half), records.end());
  for (std::size_t i = 0; i < 2; ++i) left[i].at_ns = records[half].at_ns;
  return left;
}

TEST_F(ChangedRecording, PoliciesAreComparedFromTheFirstWholeClusterOn) {
  simulate();
  EXPECT_EQ(replay(segment(rolled(records()), false), ""), 0) << replayed;
  EXPECT_GT(placed_as_recorded(replayed), 30) << replayed;
  EXPECT_EQ(times(warnings, "missing"), 0u) << warnings;
}

TEST_F(ChangedRecording, PoliciesAreComparedUpToAGap) {
  simulate();
  std::vector<Record> cut = records();
  const std::size_t half = attempt_at(cut, 20);
  cut.insert(cut.begin() + static_cast<std::ptrdiff_t>(half), mark(Kind::gap, cut[half].at_ns));
  EXPECT_EQ(replay(segment(cut), ""), 0) << replayed;
  EXPECT_EQ(times(warnings, "a part of the recording is missing"), 1u) << warnings;
  EXPECT_NE(replayed.find(R"("same":20,"different":0,)"), std::string::npos) << replayed;
}

TEST_F(ChangedRecording, WithoutAWholeClusterNothingIsDecidedAgain) {
  simulate();
  const std::string path = segment(records(), false);
  EXPECT_EQ(replay(path), 1);
  EXPECT_EQ(number(info(), "decisions"), number(replayed.substr(0, replayed.find('\n')), "notDecidable")) << replayed;
  EXPECT_NE(warnings.find("no decision could be made again"), std::string::npos) << replayed;
  EXPECT_EQ(replay(path, ""), 1);
  EXPECT_NE(warnings.find("the cluster is not known as a whole at any moment"), std::string::npos) << warnings;
}

TEST_F(ChangedRecording, ADifferenceIsThreeLines) {
  simulate();
  std::vector<Record> other = records();
  Record* const attempt = attempt_of(other, "shop/plain-3");
  ASSERT_NE(attempt, nullptr);
  const std::string node = attempt->text;
  const std::string fit = fmt::format(" of {} that fit, total {}\n", attempt->attempt.feasible, attempt->attempt.total);
  attempt->text = "elsewhere";
  EXPECT_EQ(replay(segment(other), {}, "table"), 1);
  EXPECT_NE(
      replayed.find(" shop/plain-3 (attempt 1)\n  recorded: node elsewhere" + fit + "  replayed: node " + node + fit),
      std::string::npos)
      << replayed;
}

TEST_F(ChangedRecording, TheTotalOfScoresCountsWhereItIsRecorded) {
  simulate();
  std::vector<Record> other = records();
  Record* const attempt = attempt_of(other, "shop/plain-3");
  ASSERT_NE(attempt, nullptr);
  const std::int64_t total = attempt->attempt.total++;
  EXPECT_EQ(replay(segment(other), {}, "table"), 1);
  EXPECT_NE(replayed.find(fmt::format(", total {}\n", total)), std::string::npos) << replayed;
  attempt->attempt.total = 0;  // as of an older version
  EXPECT_EQ(replay(segment(other)), 0) << replayed;
}

TEST_F(ChangedRecording, HowManyNodesFitCountsUnlessPoliciesAreOthers) {
  simulate();
  std::vector<Record> other = records();
  Record* const attempt = attempt_of(other, "shop/plain-3");
  ASSERT_NE(attempt, nullptr);
  const std::uint32_t fit = attempt->attempt.feasible++;
  const std::string path = segment(other);
  EXPECT_EQ(replay(path, {}, "table"), 1);
  EXPECT_NE(replayed.find(fmt::format(" of {} that fit, total {}\n  replayed: node {} of {} that fit, total {}\n",
                                      fit + 1, attempt->attempt.total, attempt->text, fit, attempt->attempt.total)),
            std::string::npos)
      << replayed;
  EXPECT_EQ(replay(path, ""), 0) << replayed;
  EXPECT_EQ(number(replayed, "different"), 0) << replayed;
}

TEST_F(ChangedRecording, ADescriptionThatIsNoJsonIsNotCopied) {
  simulate();
  std::vector<Record> other = records();
  ASSERT_EQ(other.front().kind, Kind::description);
  other.front().text = R"(null,"runs":99)";
  std::filesystem::remove_all(recording());
  std::filesystem::create_directory(recording());
  std::filesystem::rename(segment(other), recording() + "/berth-0000000000000001.rec");
  const std::string spans = info();
  EXPECT_EQ(number(spans, "runs"), 1) << spans;
  EXPECT_NE(spans.find(R"("writer":null)"), std::string::npos) << spans;
}

/// Puts what follows `key` in the recorded configuration, up to the end of its line, in the place of what stood there.
void set_recorded(Record& description, const std::string& key, const std::string& value) {
  const std::size_t at = description.text.find(key);
  ASSERT_NE(at, std::string::npos) << description.text;
  description.text.replace(at + key.size(), description.text.find("\\n", at) - at - key.size(), value);
}

TEST_F(ChangedRecording, ARecordingDoesNotSayWherePluginsAre) {
  simulate();
  std::vector<Record> other = records();
  // A directory from which nothing can be loaded, named as one that lies next to the recording.
  std::filesystem::create_directory(folder + "/planted");
  set_recorded(other.front(), "  directory: ", "./planted");
  const std::string path = segment(other);
  ReplayOptions options;  // without --plugin-dir: the environment says where plugins are
  options.path = path;
  options.output = "json";
  std::ostringstream out, err;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  EXPECT_EQ(run_replay(options, out, err), 0) << err.str();
  ExplainOptions explain;
  explain.pod = "shop/too-large-1";
  explain.view.record = path;
  std::ostringstream explained, said;
  EXPECT_EQ(run_explain(explain, explained, said), 0) << said.str();
  options.config = "";
  std::ostringstream compared, warned;
  EXPECT_EQ(run_replay(options, compared, warned), 0) << warned.str();
  std::filesystem::current_path(before);
  for (const std::string& text : {err.str(), said.str(), warned.str()})
    EXPECT_EQ(times(text, "plugins.directory ./planted is not used"), 1u) << text;
  EXPECT_EQ(number(out.str(), "different"), 0) << out.str();
}

TEST_F(ChangedRecording, APinOfARecordingIsADigestAndNoPath) {
  simulate();
  std::vector<Record> other = records();
  const std::string pinned = folder + "/planted/node_name.so";
  const auto answer_with = [&](const std::string& sha256) {
    std::vector<Record> changed = other;
    set_recorded(changed.front(), "  files:", "\\n    - file: " + pinned + "\\n      sha256: " + sha256);
    const int status = replay(segment(changed));
    return std::to_string(status) + warnings;
  };
  const std::size_t file = other.front().text.find(R"("file":"node_name.so","sha256":")");
  ASSERT_NE(file, std::string::npos) << other.front().text.substr(0, 2'000);
  const std::string recorded = other.front().text.substr(file + 32, 64);
  EXPECT_EQ(answer_with(recorded), "0");
  EXPECT_EQ(times(answer_with(std::string(64, 'a')), "BERTH-P004"), 1u) << warnings;
}

TEST_F(ChangedRecording, PluginsWithAnotherDigestAreReported) {
  simulate();
  std::vector<Record> other = records();
  const std::size_t at = other.front().text.find(R"("sha256":")", other.front().text.find(R"("NodeName")"));
  ASSERT_NE(at, std::string::npos);
  other.front().text.replace(at + 10, 8, "00000000");
  const std::string path = segment(other);
  EXPECT_EQ(replay(path), 0);
  EXPECT_NE(replayed.find(R"("changedPlugins":["NodeName"])"), std::string::npos) << replayed;
  ExplainOptions explain;
  explain.pod = "shop/too-large-1";
  explain.view.record = path;
  explain.view.plugin_dir = std::getenv("BERTH_PLUGIN_DIR");
  std::ostringstream out, err;
  EXPECT_EQ(run_explain(explain, out, err), 0) << err.str();
  EXPECT_NE(err.str().find("plugins of other files than those that decided: NodeName"), std::string::npos) << err.str();
}

TEST_F(ChangedRecording, ADirectoryThatOtherUsersMayWriteToIsRefused) {
  const auto judged = [&](::mode_t mode) {
    const std::string directory = folder + "/kept";
    EXPECT_TRUE(::mkdir(directory.c_str(), 0700) == 0 || errno == EEXIST);
    EXPECT_EQ(::chmod(directory.c_str(), mode), 0);
    return recorder_directory(directory) == directory;
  };
  EXPECT_TRUE(judged(0700));
  EXPECT_TRUE(judged(0755));
  EXPECT_FALSE(judged(0777));
  EXPECT_FALSE(judged(01777)) << "a sticky directory lets others make files";
  EXPECT_FALSE(judged(0770));
}

TEST_F(ChangedRecording, DecisionsThatAreMadeAgainAndAgainAreNotAllKept) {
  simulate();
  std::vector<Record> long_one = records();
  const std::int64_t day_ns = std::int64_t{24} * 3'600 * 1'000'000'000;
  const std::int64_t end_ns = long_one.back().at_ns;
  for (int day = 1; day < 30; ++day) long_one.push_back(mark(Kind::look, end_ns + day * day_ns));
  std::ostringstream err;
  PolicyRun::Options options;
  options.recording = segment(long_one);
  options.plugin_dir = std::getenv("BERTH_PLUGIN_DIR");
  options.decision_bytes_max = std::size_t{1} << 20;
  PolicyRun run(options, err);
  const RunStatus done = run.run();
  ASSERT_TRUE(done.ok()) << err.str() << done.error().lines;
  EXPECT_EQ(times(err.str(), "1 MiB of decisions"), 1u) << err.str();
  EXPECT_GT(run.decisions().size(), 100u);
  EXPECT_LE(run.decisions().size(), options.decision_bytes_max / sizeof(report::Decision) + 1);
}

TEST(SupervisedCommand, EndsWithASentenceWhereMemoryEnds) {
  EXPECT_EXIT(std::_Exit(supervised([] {
                std::get_new_handler()();
                return 0;
              })),
              ::testing::ExitedWithCode(1), "^berth: there is not enough memory for this\n$");
}

TEST_F(ChangedRecording, PodsWithoutAGroupAreNoMembersOfAPlan) {
  simulate();
  std::vector<Record> other = records();
  Record* const attempt = attempt_of(other, "shop/important-0");
  ASSERT_NE(attempt, nullptr);
  ASSERT_TRUE(attempt->rejected != nullptr && !attempt->rejected->victims.empty());
  attempt->attempt.way = recording::Way::planned;
  attempt->attempt.needed = 1;
  EXPECT_EQ(replay(segment(other)), 0) << replayed;
}

TEST_F(ChangedRecording, MembersOfAPlanThatDoesNotEndAreCounted) {
  simulate();
  const std::vector<Record> all = records();
  for (const bool ends_there : {true, false}) {
    std::vector<Record> other = all;
    const std::size_t at = attempt_at(other, 20);
    other[at].attempt.way = recording::Way::planned;
    other[at].attempt.needed = 2;
    other[at].attempt.members_left = 1;
    if (ends_there) other.resize(at + 1);
    (void)replay(segment(other));
    EXPECT_EQ(number(replayed, "notDecidable"), 1) << replayed;
    EXPECT_EQ(number(replayed, "same") + number(replayed, "different") + 1, number(replayed, "decisions"));
  }
}

TEST_F(ChangedRecording, ChangesDuringADecisionAreKeptUpToALimit) {
  simulate();
  std::vector<Record> other = records();
  const std::size_t at = attempt_at(other, 20);
  const Record decided = other[at];
  ASSERT_FALSE(decided.text.empty());
  Record gone = mark(Kind::node_gone, decided.at_ns);
  gone.text = decided.text;
  std::vector<Record> during{gone};
  while (during.size() < 8'192) {
    Record write = mark(Kind::write, decided.at_ns);
    write.written = std::make_shared<recording::Written>();
    during.push_back(write);
  }
  other.resize(at);
  other.insert(other.end(), during.begin(), during.end());
  other.push_back(decided);
  const std::string path = segment(other);
  EXPECT_EQ(replay(path), 1);
  EXPECT_EQ(number(replayed, "different"), 1) << replayed;
  const Result<RecordedMoment> moment =
      read_moment(path, {{}, decided.pod->key(), decided.attempt.number}, read_symbols);
  ASSERT_TRUE(moment.ok()) << moment.error().message;
  EXPECT_EQ(std::count_if(moment->objects.begin(), moment->objects.end(),
                          [](const auto& object) { return std::holds_alternative<model::NodePtr>(object); }),
            11);
}

TEST_F(ChangedRecording, YearsInWhichNothingWasRecordedAreNotSimulated) {
  simulate();
  std::vector<Record> other = records();
  for (std::size_t i = attempt_at(other, 50); i < other.size(); ++i)
    other[i].at_ns += std::int64_t{3} * 24 * 3'600 * 1'000'000'000;
  EXPECT_EQ(replay(segment(other), ""), 0) << replayed;
  EXPECT_EQ(times(warnings, "nothing was recorded for longer than a day"), 1u) << warnings;
}

TEST_F(ChangedRecording, WhatIsWrongInItsConfigurationNamesTheRecording) {
  simulate();
  std::vector<Record> other = records();
  other.front().text = R"({"configuration":"apiVersion: kubescheduler.config.k8s.io/v1\nkind: Nonsense\n"})";
  const std::string path = segment(other);
  EXPECT_EQ(replay(path, ""), 1);
  EXPECT_NE(warnings.find(path), std::string::npos) << warnings;
}

TEST_F(ChangedRecording, ExtendersThatAreLeftOutAreNamedOnce) {
  simulate();
  const std::string extended = write("extended.yaml", R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders: [{urlPrefix: "http://127.0.0.1:1/", filterVerb: filter}]
)");
  EXPECT_EQ(replay(recording(), extended), 0) << replayed;
  EXPECT_EQ(times(warnings, "what extenders said"), 1u) << warnings;
}

}  // namespace
}  // namespace berth::app
