// SPDX-License-Identifier: Apache-2.0
// Samples that talk to something else than the API server, under `berth run`.
#include "http_client/http_client.hpp"
#include "samples/sample_fixture.hpp"

namespace berth::tests {
namespace {

constexpr const char* k_wants_disk = R"("annotations":{"example.com/disk":"data-1"})";

/// The small cloud that the sample brings along.
class CloudDiskTest : public SampleTest {
 protected:
  void start_cloud_and_berth() {
    const std::string script = variable("BERTH_SAMPLES") + "/cloud_disk/cloud_disk/cloud.py";
    const std::string port_file = directory.path() + "/port";
    cloud = std::make_unique<ChildProcess>(std::vector<std::string>{"python3", script, "--port-file", port_file},
                                           directory.path() + "/cloud-log");
    std::string port;
    ASSERT_TRUE(wait([&] { return static_cast<bool>(std::ifstream(port_file) >> port); })) << cloud->log();
    address = "http://127.0.0.1:" + port;
    node("n");
    berth = start_sample("cloud_disk", "berth.yaml", {{"CLOUD_ADDRESS", address}});
  }
  std::string ask(const char* method, const std::string& target) {
    return http::exchange(method, http::Url::parse(address), target, {}, std::chrono::milliseconds(k_patience)).body;
  }

  std::string address;
  std::unique_ptr<ChildProcess> cloud, berth;
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

}  // namespace
}  // namespace berth::tests
