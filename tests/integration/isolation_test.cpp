// SPDX-License-Identifier: Apache-2.0
// `berth run` with a plugin in a process of its own, which crashes for some pods; berth has confined itself meanwhile.
#include <algorithm>
#include <filesystem>

#include "integration/serving_fixture.hpp"
#include "unit/isolation/deeds.hpp"

namespace berth::tests {
namespace {

namespace fs = std::filesystem;
using isolation::tried::Deed;

class IsolationRunTest : public ServingTest {
 protected:
  /// berth's own plugins and the one that is tried, as files.
  IsolationRunTest() {
    const fs::path folder = fs::path(directory.path()) / "plugins";
    fs::create_directory(folder);
    fs::permissions(folder, fs::perms::owner_all);
    for (const fs::directory_entry& file : fs::directory_iterator(plugin_dir))
      if (file.path().extension() == ".so") fs::copy_file(file.path(), folder / file.path().filename());
    fs::copy_file(variable("BERTH_TRIED_PLUGIN"), folder / "tried.so");
    plugin_dir = folder;
  }
  std::string configuration() {
    return directory.write("berth.yaml", R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: )" + kubeconfig +
                                             R"(}
profiles:
  - schedulerName: default-scheduler
  - schedulerName: trying
    plugins: {multiPoint: {enabled: [{name: example.com/Tried}]}}
---
apiVersion: config.berth.dev/v1alpha1
kind: BerthConfiguration
plugins: {files: [{file: tried.so, isolation: process, callTimeout: 20s}]}
)");
  }
  static std::string pod_that(const std::string& name, Deed deed) {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
           R"(","namespace":"default"},"spec":{"schedulerName":"trying","priority":)" +
           std::to_string(static_cast<int>(deed)) +
           R"(,"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"100m"}}}]}})";
  }
  std::string message_of(const std::string& pod) { return text_at(stored(pod), "/status/conditions/0/message"); }
};

TEST_F(IsolationRunTest, ACrashCostsThePodAndNotTheScheduler) {
  auto berth = start_serving({"--leader-elect=false", "--config=" + configuration()});
  EXPECT_NE(berth->log().find("berth has confined itself"), std::string::npos) << berth->log();
  server.create(pod_that("good", Deed::none));
  ASSERT_TRUE(wait([&] { return bound() == 6; })) << berth->log();
  EXPECT_NE(metrics().find(R"(berth_isolated_plugin_up{plugin="example.com/Tried",profile="trying"} 1)"),
            std::string::npos);

  server.create(pod_that("bad", Deed::crash));
  ASSERT_TRUE(wait([&] { return !message_of("bad").empty(); })) << berth->log();
  const std::string message = message_of("bad");
  EXPECT_EQ(
      message.substr(0, message.find(';')),
      "running \"example.com/Tried\" filter plugin: its process ended with signal 11 (Segmentation fault) in filter");
  EXPECT_NE(message.find("; started again in "), std::string::npos) << message;
  // Others go on, and after a while those of this profile as well.
  server.create(pod_json("other", "100m"));
  ASSERT_TRUE(wait([&] { return bound() == 7; })) << berth->log();
  server.store().remove(pods(), "default", "bad", json::parse(R"({"gracePeriodSeconds":0})"));
  server.create(pod_that("later", Deed::none));
  ASSERT_TRUE(wait([&] { return bound() == 8; })) << berth->log();
  const std::string page = metrics();
  EXPECT_NE(page.find(R"(berth_isolated_plugin_restarts_total{plugin="example.com/Tried",profile="trying"} )"),
            std::string::npos);
  EXPECT_NE(get("/debug/plugins").second.find(R"("lastFailure":"its process ended with signal 11)"), std::string::npos)
      << get("/debug/plugins").second;
  EXPECT_NE(berth->log().find("The process of an isolated plugin runs again"), std::string::npos) << berth->log();
  berth->signal(SIGTERM);
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 0) << berth->log();
}

}  // namespace
}  // namespace berth::tests
