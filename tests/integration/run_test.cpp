// SPDX-License-Identifier: Apache-2.0
// `berth run` as a process of its own, against the test API server.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "cluster/kube/http_client.hpp"
#include "support/api_server.hpp"
#include "support/child_process.hpp"

namespace berth::tests {
namespace {

using std::chrono::seconds;
constexpr seconds k_patience{60};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string node_json(int number, int cpu) {
  std::ostringstream out;
  out << R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n)" << number
      << R"(","labels":{"kubernetes.io/hostname":"n)" << number << R"("}},"status":{"allocatable":{"cpu":")" << cpu
      << R"(","memory":"64Gi","pods":"110"},"capacity":{"cpu":")" << cpu << R"(","memory":"64Gi","pods":"110"}}})";
  return out.str();
}

std::string pod_json(const std::string& name, const std::string& cpu) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
         R"(","namespace":"default"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":")" +
         cpu + R"("}}}]}})";
}

class RunTest : public testing::Test {
 protected:
  RunTest() {
    kubeconfig = directory.write("kubeconfig", server.kubeconfig());
    namespaces();
  }
  void namespaces() {
    for (const char* name : {"default", "kube-system"})
      server.create(std::string(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")") + name + "\"}}");
  }
  std::unique_ptr<ChildProcess> start(std::vector<std::string> more, const std::string& log = "log") {
    std::vector<std::string> command{variable("BERTH"), "run",
                                     "--kubeconfig",    kubeconfig,
                                     "--plugin-dir",    variable("BERTH_PLUGIN_DIR"),
                                     "--secure-port=0", "--kube-api-qps=-1"};
    command.insert(command.end(), more.begin(), more.end());
    return std::make_unique<ChildProcess>(command, directory.path() + "/" + log);
  }
  /// Looks whenever the store has changed, which berth's writes do.
  template <typename Condition>
  bool wait(Condition&& condition) {
    const auto end = std::chrono::steady_clock::now() + k_patience;
    std::uint64_t version = 0;
    while (std::chrono::steady_clock::now() < end) {
      if (condition()) return true;
      version = server.await_change(version, std::chrono::milliseconds(200));
    }
    return false;
  }
  const ApiResource& pods() { return *server.store().find("", "v1", "pods"); }
  std::map<std::string, std::string> placements() {
    std::map<std::string, std::string> out;
    for (const StoredPtr& pod : server.store().list(pods(), "", "", 0).objects) out[pod->name] = pod->node;
    return out;
  }
  std::size_t bound() {
    std::size_t count = 0;
    for (const auto& [pod, node] : placements()) count += !node.empty();
    return count;
  }
  json::value stored(const std::string& name) {
    return json::parse((*server.store().get(pods(), "default", name).value)->text);
  }
  json::value lease() {
    const auto found = server.store().get(*server.store().find("coordination.k8s.io", "v1", "leases"), "kube-system",
                                          "kube-scheduler");
    return found.ok() ? json::parse((*found.value)->text) : json::value();
  }

  std::string output() {
    std::ifstream in(directory.path() + "/out");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// One request to berth's own server.
  std::pair<int, std::string> fetch(std::uint16_t port, const std::string& target, const std::string& token) {
    SystemClock clock;
    cluster::kube::ClientConfig config;
    config.server = *cluster::kube::parse_url("https://127.0.0.1:" + std::to_string(port), "https");
    config.tls.insecure = true;
    config.auth.token = token;
    cluster::kube::IoThreads threads(1);
    cluster::kube::HttpClient client(
        threads, *cluster::kube::Endpoint::make(config, clock, [](const char*) { return std::string(); }), {});
    std::promise<std::pair<int, std::string>> promise;
    cluster::kube::Request request;
    request.target = target;
    client.send(request, [&](Result<cluster::kube::Response> r) {
      promise.set_value(r.ok() ? std::pair(r->status, r->body) : std::pair(0, r.error().message));
    });
    return promise.get_future().get();
  }
  /// Free a moment ago; nothing else on this machine asks for ports by number.
  static std::uint16_t free_port() { return ApiServer().port(); }

  TemporaryDirectory directory;
  ApiServer server;
  std::string kubeconfig;
};

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

TEST_F(RunTest, AStandbyTakesOverWhenTheLeaderIsKilled) {
  for (int i = 0; i < 4; ++i) server.create(node_json(i, 64));
  const std::vector<std::string> election{"--leader-elect=true", "--leader-elect-lease-duration=3s",
                                          "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms"};
  auto first = start(election, "first");
  server.create(pod_json("a", "100m"));
  ASSERT_TRUE(wait([&] { return bound() == 1; })) << first->log();
  const std::string leader = text_at(lease(), "/spec/holderIdentity");
  EXPECT_FALSE(leader.empty());
  auto second = start(election, "second");
  server.create(pod_json("b", "100m"));
  ASSERT_TRUE(wait([&] { return bound() == 2; }));
  EXPECT_EQ(text_at(lease(), "/spec/holderIdentity"), leader);

  first->signal(SIGKILL);
  server.create(pod_json("c", "100m"));
  ASSERT_TRUE(wait([&] { return bound() == 3; })) << second->log();
  EXPECT_NE(text_at(lease(), "/spec/holderIdentity"), leader);
  EXPECT_EQ(lease().at("spec").at("leaseTransitions").as_int64(), 1);

  // A leader that is told to end gives its lease back.
  second->signal(SIGTERM);
  EXPECT_EQ(second->wait(std::chrono::milliseconds(k_patience)), 0) << second->log();
  EXPECT_EQ(text_at(lease(), "/spec/holderIdentity"), "");
  EXPECT_EQ(server.store().bindings().size(), 3U);
}

TEST_F(RunTest, EveryPodIsBoundOnceWhateverTheServerDoes) {
  constexpr int k_pods = 2000, k_nodes = 100;
  Faults faults;
  faults.dropped_watch = 0.002;
  faults.gone = 0.1;
  faults.conflict = 0.03;
  faults.too_many = 0.03;
  faults.internal_error = 0.03;
  faults.lost_answer = 0.03;
  faults.truncated = 0.02;
  faults.slow = 0.05;
  faults.slow_max = std::chrono::milliseconds(100);
  faults.repeated_event = 0.05;
  faults.reordered_events = 0.05;
  faults.seed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  if (const std::string seed = variable("BERTH_SEED"); !seed.empty()) faults.seed = std::stoull(seed);
  std::printf("seed %llu (BERTH_SEED)\n", static_cast<unsigned long long>(faults.seed));
  for (int i = 0; i < k_nodes; ++i) server.create(node_json(i, 4));
  server.inject(faults);
  auto berth = start({"--leader-elect=false"});
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
  berth->signal(SIGTERM);
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 0) << berth->log();
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
  EXPECT_EQ(fetch(port, "/healthz?verbose", "").second, "[+]leaderElection ok\nhealthz check passed\n");
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
  EXPECT_NE(order->log().find("leaseDuration must be greater than renewDeadline"), std::string::npos) << order->log();
  auto durations = start({"--leader-elect-lease-duration=long"}, "durations");
  EXPECT_EQ(durations->wait(std::chrono::milliseconds(k_patience)), 1);
  EXPECT_NE(durations->log().find("\"long\" is no duration"), std::string::npos) << durations->log();
}

}  // namespace
}  // namespace berth::tests
