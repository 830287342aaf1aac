// SPDX-License-Identifier: Apache-2.0
// `berth run` records what it decides; whatever ends it, the recording can be read, and it is decided again as it was.
#include <algorithm>
#include <filesystem>

#include "integration/run_fixture.hpp"

namespace berth::tests {
namespace {

class RecorderRun : public RunTest {
 protected:
  RecorderRun() {
    for (int i = 0; i < 20; ++i) server.create(node_json(i, 4));
  }
  std::string recording() { return directory.path() + "/recording"; }
  std::unique_ptr<ChildProcess> start_recording(std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--leader-elect=false", "--recorder-dir=" + recording()});
    return start(more);
  }
  /// What a command of the program says; expects its exit status.
  std::string run(std::vector<std::string> arguments, int status = 0) {
    arguments.insert(arguments.begin(), variable("BERTH"));
    // A file for each: one that is there is appended to.
    ChildProcess child(arguments, directory.path() + "/command-out-" + std::to_string(++commands_));
    EXPECT_EQ(child.wait(std::chrono::milliseconds(k_patience)), status) << child.log();
    return child.log();
  }
  std::int64_t number(const std::string& json_text, const char* pointer) {
    boost::system::error_code error;
    const json::value parsed = json::parse(json_text, error);
    EXPECT_FALSE(error) << json_text;
    const json::value* const found = error ? nullptr : parsed.find_pointer(pointer, error);
    return found != nullptr && found->is_int64() ? found->as_int64() : -1;
  }
  std::string info() { return run({"record", "info", "--json", recording()}); }
  std::string replay(int status = 0) {
    return run({"replay", "-o", "json", "--plugin-dir", plugin_dir, recording()}, status);
  }
  void create_pods(int from, int to) {
    for (int i = from; i < to; ++i) server.create(pod_json("p" + std::to_string(i), i % 5 == 0 ? "1500m" : "400m"));
  }

 private:
  int commands_ = 0;
};

TEST_F(RecorderRun, EveryDecisionOfALiveRunComesOutTheSame) {
  server.inject(bad_days());
  auto berth = start_recording();
  create_pods(0, 60);
  ASSERT_TRUE(wait([&] { return bound() >= 30; })) << berth->log();
  for (int i = 0; i < 10; ++i)
    server.store().remove(pods(), "default", "p" + std::to_string(i), json::parse(R"({"gracePeriodSeconds":0})"));
  server.create(pod_json("too-large", "99"));
  create_pods(60, 100);
  ASSERT_TRUE(wait([&] { return bound() >= 90; })) << berth->log();
  berth->signal(SIGTERM);
  ASSERT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 0) << berth->log();
  const std::string spans = info(), replayed = replay();
  EXPECT_GE(number(spans, "/decisions"), 101) << spans;
  EXPECT_GE(number(spans, "/records/write"), 90) << spans;
  EXPECT_EQ(number(spans, "/missing"), 0) << spans;
  EXPECT_EQ(number(replayed, "/different"), 0) << replayed;
  EXPECT_EQ(number(replayed, "/same"), number(spans, "/decisions")) << replayed;
}

TEST_F(RecorderRun, AProcessThatIsKilledLeavesWhatItRecorded) {
  auto berth = start_recording();
  create_pods(0, 40);
  // What was bound a tenth of a second ago is written.
  ASSERT_TRUE(wait([&] { return bound() == 40; })) << berth->log();
  ASSERT_TRUE(wait([&] { return number(info(), "/placed") == 40; })) << info();
  berth->signal(SIGKILL);
  ASSERT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 128 + SIGKILL);
  EXPECT_EQ(number(replay(), "/same"), number(info(), "/decisions"));
  // The next process goes on in the same directory.
  auto next = start_recording();
  create_pods(40, 50);
  ASSERT_TRUE(wait([&] { return bound() == 50; })) << next->log();
  next->signal(SIGTERM);
  ASSERT_EQ(next->wait(std::chrono::milliseconds(k_patience)), 0) << next->log();
  EXPECT_EQ(number(info(), "/runs"), 2);
  EXPECT_EQ(number(info(), "/placed"), 50);
  EXPECT_EQ(number(replay(), "/different"), 0);
}

TEST_F(RecorderRun, APathThatCannotBeWrittenIsAWarning) {
  const std::string file = directory.write("file", "");
  auto berth = start({"--leader-elect=false", "--recorder-dir=" + file + "/below"});
  create_pods(0, 3);
  ASSERT_TRUE(wait([&] { return bound() == 3; })) << berth->log();
  EXPECT_NE(berth->log().find("Decisions are not recorded"), std::string::npos) << berth->log();
}

TEST_F(RecorderRun, AnEmptyPathTurnsItOff) {
  auto berth = start({"--leader-elect=false", "--recorder-dir="});
  create_pods(0, 3);
  ASSERT_TRUE(wait([&] { return bound() == 3; })) << berth->log();
  EXPECT_EQ(berth->log().find("recorded"), std::string::npos) << berth->log();
}

}  // namespace
}  // namespace berth::tests
