// SPDX-License-Identifier: Apache-2.0
// `berth run` as a process of its own, against the test API server.
#include <set>

#include "integration/run_fixture.hpp"

namespace berth::tests {
namespace {

TEST_F(RunTest, BindsWhatFitsAndSaysWhyTheRestDoesNot) {
  for (int i = 0; i < 10; ++i) server.create(node_json(i, 4));
  for (int i = 0; i < 50; ++i) server.create(pod_json("before" + std::to_string(i), "100m"));
  auto berth = start({"--leader-elect=false"});
  ASSERT_TRUE(wait([&] { return bound() == 50; })) << berth->log();
  for (int i = 0; i < 50; ++i) server.create(pod_json("after" + std::to_string(i), "100m"));
  server.create(pod_json("huge", "100"));
  ASSERT_TRUE(wait([&] { return bound() == 100 && !text_at(stored("huge"), "/status/conditions/0/message").empty(); }))
      << berth->log();
  EXPECT_EQ(text_at(stored("huge"), "/status/conditions/0/reason"), "Unschedulable");
  EXPECT_EQ(text_at(stored("huge"), "/status/conditions/0/message").substr(0, 46),
            "0/10 nodes are available: 10 Insufficient cpu.");
  // Room for it makes it fit.
  server.create(node_json(99, 128));
  ASSERT_TRUE(wait([&] { return placements()["huge"] == "n99"; })) << berth->log();
  std::map<std::string, int> events;
  ASSERT_TRUE(wait([&] {
    events.clear();
    for (const auto& event :
         server.store().list(*server.store().find("events.k8s.io", "v1", "events"), "", "", 0).objects)
      ++events[text_at(json::parse(event->text), "/reason")];
    return events["Scheduled"] == 101;
  }));
  EXPECT_GE(events["FailedScheduling"], 1);

  berth->signal(SIGTERM);
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 0) << berth->log();
}

TEST_F(RunTest, EveryPodIsBoundOnceWhateverTheServerDoes) {
  constexpr int k_pods = 2000, k_nodes = 100;
  Faults faults = bad_days();
  faults.gone = 0.1;
  faults.truncated = 0.02;
  for (int i = 0; i < k_nodes; ++i) server.create(node_json(i, 4));
  server.inject(faults);
  const std::uint16_t port = free_port();
  auto berth = start({"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=" + std::to_string(port),
                      "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig});
  for (int i = 0; i < k_pods; ++i) {
    server.create(pod_json("p" + std::to_string(i), "200m"));
    if (i % 500 == 250) server.restart();
  }
  // 2,000 times 200m is exactly what 100 nodes of 4 have.
  ASSERT_TRUE(wait([&] { return bound() == k_pods; })) << bound() << " bound\n" << berth->log();
  std::set<std::string> once;
  std::map<std::string, int> per_node;
  for (const BindRecord& record : server.store().bindings()) {
    EXPECT_TRUE(once.insert(record.uid).second) << record.name << " was bound twice";
    ++per_node[record.node];
  }
  for (const auto& [node, count] : per_node) EXPECT_LE(count, 20) << node << " holds more than it has";
  // Nothing waits any more, and nothing is still assumed, once berth has heard of its own work.
  server.inject({});
  const auto waiting_and_assumed = [&] {
    std::istringstream page(fetch(port, "/metrics", "test-token").second);
    double sum = 0;
    int lines = 0;
    for (std::string line; std::getline(page, line);)
      if (line.starts_with("scheduler_pending_pods{") ||
          line.starts_with("scheduler_cache_size{type=\"assumed_pods\"")) {
        sum += std::stod(line.substr(line.rfind(' ')));
        ++lines;
      }
    return lines == 5 ? sum : -1;
  };
  EXPECT_TRUE(wait([&] { return waiting_and_assumed() == 0; })) << fetch(port, "/metrics", "test-token").second;
  berth->signal(SIGTERM);
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 0) << berth->log();
}

TEST_F(RunTest, BindingsThatAreUnderWayEndBeforeItDoes) {
  constexpr std::size_t k_pods = 60;
  for (int i = 0; i < 4; ++i) server.create(node_json(i, 64));
  auto berth = start({"--leader-elect=true"});
  ASSERT_TRUE(wait([&] { return !text_at(lease(), "/spec/holderIdentity").empty(); })) << berth->log();
  Faults faults;
  faults.slow = 1;
  faults.slow_max = std::chrono::milliseconds(400);
  server.inject(faults);
  for (std::size_t i = 0; i < k_pods; ++i) server.create(pod_json("p" + std::to_string(i), "100m"));
  ASSERT_TRUE(wait([&] { return bound() >= 1; })) << berth->log();
  berth->signal(SIGTERM);
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 0) << berth->log();
  EXPECT_EQ(berth->log().find("still open"), std::string::npos) << berth->log();
  EXPECT_EQ(text_at(lease(), "/spec/holderIdentity"), "");
  // Whatever it had begun was answered; nothing was begun afterwards.
  for (const ApiServer::Seen& write : server.writes())
    if (write.target.ends_with("/binding")) {
      EXPECT_EQ(write.status, 201) << write.target;
    }
}

TEST_F(RunTest, ADryRunWritesNothing) {
  server.create(node_json(1, 4));
  server.create(pod_json("a", "100m"));
  server.create(pod_json("huge", "100"));
  // Not even a Lease, which is another's here.
  auto berth = start({"--dry-run"});
  ASSERT_TRUE(wait([&] {
    return berth->log().find("would bind pod to node\" pod=\"default/a\" node=\"n1\"") != std::string::npos &&
           berth->log().find(
               "pod=\"default/huge\" conditionType=\"PodScheduled\" conditionStatus=\"False\" "
               "conditionReason=\"Unschedulable\"") != std::string::npos;
  })) << berth->log();
  berth->signal(SIGTERM);
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 0) << berth->log();
  EXPECT_TRUE(server.writes().empty());
  EXPECT_EQ(bound(), 0U);
}

TEST_F(RunTest, AnswersProbesAndThoseWhoMayAsk) {
  for (int i = 0; i < 3; ++i) server.create(node_json(i, 4));
  server.create(pod_json("huge", "100"));
  const std::uint16_t port = free_port();
  auto berth = start({"--bind-address=127.0.0.1", "--secure-port=" + std::to_string(port),
                      "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig});
  ASSERT_TRUE(wait([&] { return !text_at(stored("huge"), "/status/conditions/0/message").empty(); })) << berth->log();
  const std::string token = "test-token";
  EXPECT_EQ(fetch(port, "/readyz", ""), std::pair(200, std::string("ok")));
  EXPECT_EQ(fetch(port, "/livez", ""), std::pair(200, std::string("ok")));
  EXPECT_EQ(fetch(port, "/healthz?verbose", "").second,
            "[+]leaderElection ok\n[+]plugin-calls ok\nhealthz check passed\n");
  EXPECT_EQ(fetch(port, "/metrics", "").first, 403);
  EXPECT_EQ(fetch(port, "/metrics", "wrong").first, 401);
  const auto [status, metrics] = fetch(port, "/metrics", token);
  EXPECT_EQ(status, 200);
  for (const char* line : {"scheduler_pending_pods{queue=\"unschedulable\"} 1\n",
                           "leader_election_master_status{name=\"kube-scheduler\"} 1\n",
                           "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"unschedulable\"}"})
    EXPECT_NE(metrics.find(line), std::string::npos) << line << metrics;
  const json::value config = json::parse(fetch(port, "/configz", token).second);
  EXPECT_EQ(text_at(config, "/componentconfig/kind"), "KubeSchedulerConfiguration");
  const json::value why = json::parse(fetch(port, "/debug/pods/default/huge", token).second);
  EXPECT_EQ(text_at(why, "/place"), "unschedulable");
  EXPECT_EQ(text_at(why, "/message").substr(0, 44), "0/3 nodes are available: 3 Insufficient cpu.");
  EXPECT_EQ(fetch(port, "/debug/pods/default/none", token).first, 404);
}

TEST_F(RunTest, KubectlSeesTheSameCluster) {
  if (std::system("kubectl version --client >/dev/null 2>&1") != 0) GTEST_SKIP() << "no kubectl";
  server.create(node_json(1, 4));
  const auto kubectl = [&](const std::string& arguments) {
    return std::system(
        ("kubectl --kubeconfig " + kubeconfig + " " + arguments + " > " + directory.path() + "/out 2>&1").c_str());
  };
  const std::string manifest = directory.write("pod.json", pod_json("made-by-kubectl", "100m"));
  EXPECT_EQ(kubectl("create --validate=false -f " + manifest), 0) << output();
  auto berth = start({"--leader-elect=false"});
  ASSERT_TRUE(wait([&] { return bound() == 1; })) << berth->log();
  EXPECT_EQ(kubectl("get pods -o jsonpath={.items[0].spec.nodeName}"), 0) << output();
  EXPECT_EQ(output(), "n1");
  EXPECT_EQ(kubectl("delete pod made-by-kubectl --grace-period=0 --force --wait=false"), 0) << output();
  EXPECT_EQ(bound(), 0U);
}

TEST_F(RunTest, WhatIsWrongIsSaidBeforeAnythingStarts) {
  kubeconfig = directory.write("bad", "current-context: nowhere\n");
  auto berth = start({});
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 1);
  EXPECT_NE(berth->log().find("bad:1:18: current-context: there is no context \"nowhere\""), std::string::npos)
      << berth->log();
  auto order = start({"--leader-elect-lease-duration=5s"}, "order");
  EXPECT_EQ(order->wait(std::chrono::milliseconds(k_patience)), 1);
  EXPECT_NE(
      order->log().find("--leader-elect-lease-duration: Invalid value: \"5s\": LeaseDuration must be greater than "
                        "RenewDeadline (10s)"),
      std::string::npos)
      << order->log();
  auto durations = start({"--leader-elect-lease-duration=long"}, "durations");
  EXPECT_EQ(durations->wait(std::chrono::milliseconds(k_patience)), 1);
  EXPECT_NE(durations->log().find("\"long\" is no duration"), std::string::npos) << durations->log();
}

TEST_F(RunTest, FlagsCountBeforeTheFileIsJudged) {
  const std::string config = directory.write("election.yaml",
                                             "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                             "kind: KubeSchedulerConfiguration\n"
                                             "leaderElection: {leaseDuration: 10s}\n");
  const auto run = [&](std::vector<std::string> flags, const char* log) {
    flags.insert(flags.end(), {"--config", config, "--write-config-to", directory.path() + "/out"});
    auto berth = start(flags, log);
    const std::optional<int> status = berth->wait(std::chrono::milliseconds(k_patience));
    return std::pair(status.value_or(-1), berth->log());
  };
  const auto [alone, said] = run({}, "alone");
  EXPECT_EQ(alone, 1);
  EXPECT_NE(said.find(config + ":3:33: leaderElection.leaseDuration: Invalid value: \"10s\""), std::string::npos)
      << said;
  const auto [mended, nothing] = run({"--leader-elect-lease-duration=30s"}, "mended");
  EXPECT_EQ(mended, 0) << nothing;
  EXPECT_NE(output().find("leaseDuration: 30s"), std::string::npos) << output();
  EXPECT_EQ(run({"--leader-elect=false"}, "off").first, 0) << "nothing is elected";
  const auto [nameless, required] = run({"--leader-elect-lease-duration=30s", "--leader-elect-resource-name="}, "name");
  EXPECT_EQ(nameless, 1);
  EXPECT_NE(required.find("--leader-elect-resource-name: Required value"), std::string::npos) << required;
}

}  // namespace
}  // namespace berth::tests
