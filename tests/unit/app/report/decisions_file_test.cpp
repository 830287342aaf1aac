// SPDX-License-Identifier: Apache-2.0
#include "report/decisions_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace berth::app {
namespace {

/// Decisions about 40 pods, each with what 100 nodes say; in all more than is held before it is written.
class DecisionsFile : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) /
                 (std::string("berth_decisions_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    for (int i = 0; i < 40; ++i) decisions_.push_back(decision(i));
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  static report::Decision decision(int number) {
    auto pod = std::make_shared<model::Pod>();
    pod->ns = "shop";
    pod->name = "web-" + std::to_string(number);
    report::Decision out;
    out.pod = pod;
    out.node = number % 3 == 0 ? "" : "node-1";
    out.message = number % 3 == 0 ? "0/100 nodes are available" : "";
    out.explanation = std::make_unique<cycle::Explanation>();
    out.explanation->scorers = {"Fit", "a \"Taint\""};
    for (int i = 0; i < 100; ++i) {
      cycle::NodeExplanation& node = out.explanation->nodes.emplace_back();
      node.node = "node-" + std::to_string(i) + std::string(500, 'n');
      if (i % 4 == 3) {
        node.code = framework::Code::unschedulable;
        node.plugin = i % 8 == 3 ? "Fit" : "Taints";
        node.reasons = {"Insufficient cpu", std::string(1, 'a')};
      } else {
        node.total = i * number - 50;
        node.scores = {i * number, -50};
      }
    }
    return out;
  }
  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  static std::string text_of(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }

  std::filesystem::path directory_;
  std::vector<report::Decision> decisions_;
};

std::string no_claims(const model::Pod&) { return {}; }

TEST_F(DecisionsFile, HasWhatIsWrittenAtOnceElsewhere) {
  report::DecisionsFile file(path("out"));
  ASSERT_TRUE(file.open().ok());
  for (const report::Decision& each : decisions_) file.write(each, false);
  ASSERT_TRUE(file.finish(no_claims).ok());
  EXPECT_EQ(text_of(path("out")), report::decisions_json(decisions_));
  EXPECT_GT(text_of(path("out")).size(), std::size_t{1} << 20);
}

TEST_F(DecisionsFile, WithoutADecisionIsAnEmptyList) {
  report::DecisionsFile file(path("out"));
  ASSERT_TRUE(file.open().ok());
  ASSERT_TRUE(file.finish(no_claims).ok());
  EXPECT_EQ(text_of(path("out")), report::decisions_json({}));
}

TEST_F(DecisionsFile, TakesClaimsAtTheEnd) {
  report::DecisionsFile file(path("out"));
  ASSERT_TRUE(file.open().ok());
  for (std::size_t i = 0; i < decisions_.size(); ++i) file.write(decisions_[i], i == 5 || i == 6 || i == 39);
  const Status finished = file.finish([](const model::Pod& pod) {
    return pod.name == "web-6" ? std::string() : "[{\"claim\":\"of " + pod.name + "\"}]";
  });
  ASSERT_TRUE(finished.ok()) << finished.error().message;
  for (const std::size_t i : {5, 39}) decisions_[i].claims = "[{\"claim\":\"of web-" + std::to_string(i) + "\"}]";
  EXPECT_EQ(text_of(path("out")), report::decisions_json(decisions_));
}

TEST_F(DecisionsFile, EndsWithTheFirstFailure) {
  report::DecisionsFile absent(path("no/such/directory"));
  EXPECT_EQ(absent.open().error().message, "cannot write " + path("no/such/directory") + ": No such file or directory");
  absent.write(decisions_[0], false);
  EXPECT_FALSE(absent.finish(no_claims).ok());

  report::DecisionsFile full("/dev/full");
  ASSERT_TRUE(full.open().ok());
  std::size_t written = 0;
  while (full.status().ok() && written < decisions_.size()) full.write(decisions_[written++], false);
  EXPECT_LT(written, decisions_.size()) << "it is seen before the end";
  EXPECT_EQ(full.finish(no_claims).error().message, "cannot write /dev/full: No space left on device");
}

TEST_F(DecisionsFile, SurvivesAPipeWithoutAReader) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  report::DecisionsFile file(path("pipe"));
  ASSERT_TRUE(file.open().ok());
  close(reader);
  for (const report::Decision& each : decisions_) file.write(each, false);
  EXPECT_EQ(file.finish(no_claims).error().message, "cannot write " + path("pipe") + ": Broken pipe");
}

}  // namespace
}  // namespace berth::app
