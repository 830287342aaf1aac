// SPDX-License-Identifier: Apache-2.0
// Samples that talk to something else than the API server, under `berth run`.
#include "http_client/http_client.hpp"
#include "http_client/test_server.hpp"
#include "samples/sample_fixture.hpp"

namespace berth::tests {
namespace {

constexpr const char* k_wants_disk = R"("annotations":{"example.com/disk":"data-1"})";

/// A script that a sample brings along, and the server that it is.
class OutsideTest : public SampleTest {
 protected:
  ~OutsideTest() override {
    if (!outside) return;
    outside->signal(SIGTERM);  // it may have children of its own
    outside->wait(std::chrono::milliseconds(k_patience));
  }
  void start_outside(const std::string& script, std::vector<std::string> arguments = {}) {
    const std::string port_file = directory.path() + "/port";
    arguments.insert(arguments.begin(),
                     {"python3", variable("BERTH_SAMPLES") + "/" + script, "--port-file", port_file});
    outside = std::make_unique<ChildProcess>(arguments, directory.path() + "/outside-log");
    std::string port;
    ASSERT_TRUE(wait([&] { return static_cast<bool>(std::ifstream(port_file) >> port); })) << outside->log();
    address = "http://127.0.0.1:" + port;
  }

  /// What a policy that connects has to be given.
  std::vector<std::string> may_connect() const {
    return {"--sandbox-connect=" + address.substr(address.rfind(':') + 1)};
  }

  std::string address;
  std::unique_ptr<ChildProcess> outside;
};

class CloudDiskTest : public OutsideTest {
 protected:
  void start_cloud_and_berth() {
    ASSERT_NO_FATAL_FAILURE(start_outside("cloud_disk/cloud_disk/cloud.py"));
    node("n");
    berth = start_sample("cloud_disk", "berth.yaml", {{"CLOUD_ADDRESS", address}}, may_connect());
  }
  std::string ask(const char* method, const std::string& target) {
    return http::exchange(method, http::Url::parse(address), target, {}, std::chrono::milliseconds(k_patience)).body;
  }

  std::unique_ptr<ChildProcess> berth;
};

TEST_F(CloudDiskTest, IsAttachedBeforeThePodIsBound) {
  ASSERT_NO_FATAL_FAILURE(start_cloud_and_berth());
  pod("db", k_wants_disk);
  pod("web");
  ASSERT_TRUE(lands("db", "n") && lands("web", "n")) << berth->log();
  EXPECT_EQ(ask("GET", "/disks"), R"({"data-1": "n"})");
  EXPECT_EQ(ask("GET", "/requests"), R"(["attach data-1 n: 200"])");
  end(*berth);
}

TEST_F(CloudDiskTest, FailsIsTakenBackAndTriedAgain) {
  ASSERT_NO_FATAL_FAILURE(start_cloud_and_berth());
  ask("POST", "/full?node=n");
  pod("db", k_wants_disk);
  ASSERT_TRUE(waits_because("db", "attach disk data-1: n takes no more disks")) << berth->log();
  ASSERT_TRUE(wait([&] { return ask("GET", "/requests").find("detach data-1 n: 200") != std::string::npos; }));
  EXPECT_EQ(placements()["db"], "");
  ask("POST", "/full?node=n&full=0");
  ASSERT_TRUE(lands("db", "n")) << berth->log();
  EXPECT_EQ(ask("GET", "/disks"), R"({"data-1": "n"})");
  end(*berth);
}

TEST_F(CloudDiskTest, IsDetachedWhenTheBindingFails) {
  ASSERT_NO_FATAL_FAILURE(start_cloud_and_berth());
  Faults faults;
  faults.conflict = 1;  // every write: no binding succeeds
  server.inject(faults);
  pod("db", k_wants_disk);
  ASSERT_TRUE(wait([&] { return ask("GET", "/requests").find("detach data-1 n: 200") != std::string::npos; }))
      << berth->log();
  server.inject({});
  ASSERT_TRUE(lands("db", "n")) << berth->log();
  EXPECT_EQ(ask("GET", "/disks"), R"({"data-1": "n"})");
  end(*berth);
}

class NetworkTrafficTest : public OutsideTest {
 protected:
  void start_prometheus(const std::vector<std::string>& rates) {
    std::vector<std::string> arguments;
    for (const std::string& rate : rates) arguments.insert(arguments.end(), {"--rate", rate});
    ASSERT_NO_FATAL_FAILURE(start_outside("network_traffic/network_traffic/prometheus.py", arguments));
  }
  std::unique_ptr<ChildProcess> start_berth(const std::string& configuration) {
    return start_sample("network_traffic", configuration, {{"PROMETHEUS_ADDRESS", address}}, may_connect());
  }
};

TEST_F(NetworkTrafficTest, PodsGoWherePrometheusSeesLittleTraffic) {
  ASSERT_NO_FATAL_FAILURE(start_prometheus({"busy=4000", "idle=0"}));
  node("busy", {}, "64");
  node("idle");
  auto berth = start_berth("berth.yaml");
  pod("web");
  ASSERT_TRUE(lands("web", "idle")) << berth->log();
  EXPECT_NE(berth->log().find("bandwidth by node, raw and final: busy "), std::string::npos) << berth->log();
  end(*berth);
}

TEST_F(NetworkTrafficTest, AnEndedPrometheusIsAnErrorForPodsAndForNothingElse) {
  address = "http://127.0.0.1:" + std::to_string(free_port());  // no server listens there
  node("a");
  node("b");
  auto berth = start_berth("berth.yaml");
  pod("web");
  ASSERT_TRUE(waits_because("web", "error getting node bandwidth measure: 127.0.0.1")) << berth->log();
  // With one node there is nothing to score.
  pod("only", {}, R"("nodeSelector":{"only":"yes"})");
  node("c", R"("labels":{"only":"yes"})");
  ASSERT_TRUE(lands("only", "c")) << berth->log();
  end(*berth);
}

TEST_F(NetworkTrafficTest, APrometheusThatHangsDelaysNoDecision) {
  const http::TestServer hanging({});  // takes connections and says nothing
  address = hanging.address();
  node("a");
  node("b");
  node("c", R"("labels":{"only":"yes"})");
  constexpr std::chrono::seconds k_answer_limit(5);
  auto berth = start_sample("network_traffic", "berth.yaml",
                            {{"PROMETHEUS_ADDRESS", address},
                             {"periodSeconds: 1\n", "periodSeconds: 1\n          timeoutMilliseconds: 5000\n"}},
                            may_connect());
  pod("web");
  ASSERT_TRUE(waits_because("web", "error getting node bandwidth measure: no")) << berth->log();
  const auto started = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) pod("only-" + std::to_string(i), {}, R"("nodeSelector":{"only":"yes"})");
  ASSERT_TRUE(wait([&] { return bound() == 20; })) << berth->log();
  // One decision that waited for an answer would have taken as long as an answer may take.
  EXPECT_LT(std::chrono::steady_clock::now() - started, k_answer_limit);
  ASSERT_TRUE(waits_because("web", "error getting node bandwidth measure: no answer in time")) << berth->log();
  end(*berth);
}

TEST_F(NetworkTrafficTest, UnknownTrafficIsNeutralIfConfiguredSo) {
  address = "http://127.0.0.1:" + std::to_string(free_port());
  node("a");
  node("b");
  auto berth = start_berth("neutral.yaml");
  pod("web");
  ASSERT_TRUE(wait([&] { return bound() == 1; })) << berth->log();
  EXPECT_NE(berth->log().find("-1 50"), std::string::npos) << berth->log();
  end(*berth);
}

}  // namespace
}  // namespace berth::tests
