// SPDX-License-Identifier: Apache-2.0
// Several replicas of `berth run`, of which one decides: what happens when it ends, is killed or gets stuck.
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "integration/run_fixture.hpp"
#include "support/servers/silent_server.hpp"

namespace berth::tests {
namespace {

namespace fs = std::filesystem;
using Time = std::chrono::steady_clock;

class Failover : public RunTest {
 protected:
  static constexpr std::chrono::seconds k_lease{3};

  /// `stretch`: of all durations, where the server is kept so busy that a renewal waits.
  static std::vector<std::string> election(std::vector<std::string> more = {}, int stretch = 1) {
    const auto flag = [stretch](const char* name, int time_ms) {
      return std::string("--leader-elect-") + name + '=' + std::to_string(time_ms * stretch) + "ms";
    };
    more.insert(more.end(), {"--leader-elect=true", flag("lease-duration", 3000), flag("renew-deadline", 2000),
                             flag("retry-period", 500)});
    return more;
  }
  std::string holder() { return text_at(lease(), "/spec/holderIdentity"); }
  static int count_in(const std::string& text, const std::string& what) {
    int count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++count;
    return count;
  }
  std::vector<std::string> served_on(std::uint16_t port) {
    return {"--bind-address=127.0.0.1", "--secure-port=" + std::to_string(port),
            "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig};
  }

  /// Every pod was bound, once, and no replica tried to bind one that was bound.
  void expect_each_bound_once(std::size_t pods) {
    std::set<std::string> once;
    for (const BindRecord& record : server.store().bindings())
      EXPECT_TRUE(once.insert(record.uid).second) << record.name << " was bound twice";
    EXPECT_EQ(once.size(), pods);
    for (const ApiServer::Seen& write : server.writes())
      EXPECT_FALSE(write.target.ends_with("/binding") && write.status == 409) << write.target << " was tried again";
  }
};

TEST_F(Failover, ALeaderThatIsToldToEndGivesItsLeaseBack) {
  for (int i = 0; i < 4; ++i) server.create(node_json(i, 64));
  auto first = start(election(), "first");
  server.create(pod_json("a", "100m"));
  ASSERT_TRUE(wait([&] { return bound() == 1; })) << first->log();
  const std::string leader = holder();
  EXPECT_FALSE(leader.empty());
  auto second = start(election(), "second");
  server.create(pod_json("b", "100m"));
  ASSERT_TRUE(wait([&] { return bound() == 2; }));
  EXPECT_EQ(holder(), leader);

  first->signal(SIGTERM);
  EXPECT_EQ(first->wait(std::chrono::milliseconds(k_patience)), 0) << first->log();
  server.create(pod_json("c", "100m"));
  ASSERT_TRUE(wait([&] { return bound() == 3; })) << second->log();
  EXPECT_NE(holder(), leader);

  second->signal(SIGTERM);
  EXPECT_EQ(second->wait(std::chrono::milliseconds(k_patience)), 0) << second->log();
  EXPECT_EQ(holder(), "");
  expect_each_bound_once(3);
}

TEST_F(Failover, AStandbyBindsWithinASecondOfTheEndOfAKilledLeadersLease) {
  constexpr int k_stretch = k_slowdown > 1 ? 3 : 1;
  for (int i = 0; i < 50; ++i) server.create(node_json(i, 64));
  auto first = start(election({}, k_stretch), "first");
  int pods = 0;
  const auto more = [&](int count) {
    for (int i = 0; i < count; ++i) server.create(pod_json("p" + std::to_string(pods++), "10m"));
  };
  more(300);
  ASSERT_TRUE(wait([&] { return bound() == 300; })) << first->log();
  auto second = start(election({}, k_stretch), "second");
  ASSERT_TRUE(wait([&] { return second->log().find("Caches are synced") != std::string::npos; }));
  more(300);
  ASSERT_TRUE(wait([&] { return bound() > 350; })) << first->log();

  first->signal(SIGKILL);  // with bindings under way
  first->wait(std::chrono::milliseconds(k_patience));
  const std::string leader = holder();
  const auto killed = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t killed_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(killed).count();
  std::uint64_t version = 0;
  const auto end = Time::now() + k_patience;
  while (holder() == leader && Time::now() < end) {
    if (pods < 2000) more(5);
    version = server.await_change(version, std::chrono::milliseconds(20));
  }
  ASSERT_TRUE(wait([&] { return bound() == static_cast<std::size_t>(pods); })) << bound() << '\n' << second->log();
  // What the killed leader had sent is bound within the half second in which it would have renewed its lease.
  std::int64_t taken_over_ns = 0;
  for (const BindRecord& record : server.store().bindings()) {
    taken_over_ns = record.wall_ns - killed_ns;
    if (taken_over_ns > 500'000'000) break;
  }
  EXPECT_LE(taken_over_ns, std::chrono::nanoseconds(k_lease * k_stretch + std::chrono::seconds(1) * k_slowdown).count())
      << second->log();
  EXPECT_EQ(lease().at("spec").at("leaseTransitions").as_int64(), 1);
  EXPECT_NE(second->log().find("Caught up with the cluster"), std::string::npos) << second->log();
  expect_each_bound_once(static_cast<std::size_t>(pods));
}

TEST_F(Failover, AStandbyLooksForWhatTheLeaderWroteLast) {
  server.create(node_json(1, 4));
  auto first = start(election(), "first");
  ASSERT_TRUE(wait([&] { return !holder().empty(); })) << first->log();
  const std::uint16_t port = free_port();
  auto second =
      start(election({"--bind-address=127.0.0.1", "--secure-port=" + std::to_string(port),
                      "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig}),
            "second");
  ASSERT_TRUE(wait([&] { return second->log().find("Caches are synced") != std::string::npos; }));
  first->signal(SIGSTOP);
  server.create(pod_json("a", "100m"));
  ASSERT_TRUE(wait([&] { return fetch(port, "/debug/pods/default/a", "test-token").first == 200; }));
  // The leader's last write, which the standby's watch does not tell in time.
  server.hold_watches(true);
  json::object target, binding;
  target["name"] = "n1";
  binding["target"] = target;
  ASSERT_TRUE(server.store().bind("default", "a", binding).ok());
  first->signal(SIGKILL);
  ASSERT_TRUE(wait([&] { return second->log().find("Caught up") != std::string::npos; })) << second->log();
  server.hold_watches(false);
  server.create(pod_json("b", "100m"));
  ASSERT_TRUE(wait([&] { return bound() == 2; })) << second->log();
  expect_each_bound_once(2);
}

/// A leader that can no longer renew for these faults ends before another replica may take the lease.
class LostLease : public Failover {
 protected:
  /// `more` pods are on their way to a node by then.
  void expect_end_in_time(const Faults& faults, int more = 0) {
    server.create(node_json(1, 4));
    auto berth = start(election());
    server.create(pod_json("a", "100m"));
    ASSERT_TRUE(wait([&] { return bound() == 1; })) << berth->log();
    server.inject(faults);
    for (int i = 0; i < more; ++i) server.create(pod_json("late" + std::to_string(i), "10m"));
    const auto began = Time::now();
    EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 1) << berth->log();
    EXPECT_LT(Time::now() - began, k_lease) << berth->log();
    EXPECT_EQ(count_in(berth->log(), "Leaderelection lost"), 1) << berth->log();
    EXPECT_EQ(count_in(berth->log(), "Error scheduling pod"), 0) << "nothing is said about each of them";
    EXPECT_EQ(count_in(berth->log(), "Error updating pod"), 0) << berth->log();
  }
};

TEST_F(LostLease, OfAServerThatRefusesEverythingEndsTheLeader) {
  Faults faults;
  faults.internal_error = 1;
  expect_end_in_time(faults);
}

TEST_F(LostLease, OfAServerThatAnswersNothingEndsTheLeader) {
  Faults faults;
  faults.unanswered = 1;
  expect_end_in_time(faults, 20);
}

TEST_F(Failover, AReplicaThatDelaysItsCacheAsksForNothingUntilItLeads) {
  server.create(node_json(1, 4));
  auto first = start(election(), "first");
  ASSERT_TRUE(wait([&] { return !holder().empty(); })) << first->log();
  const std::string config = directory.write("delay.yaml", R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
delayCacheUntilActive: true
clientConnection: {kubeconfig: )" + kubeconfig + "}\n");
  const std::uint16_t port = free_port();
  auto second = start(
      election({"--config=" + config, "--bind-address=127.0.0.1", "--secure-port=" + std::to_string(port)}), "second");
  ASSERT_TRUE(wait([&] { return fetch(port, "/livez", "").first == 200; })) << second->log();
  EXPECT_EQ(fetch(port, "/readyz", "").first, 500);
  EXPECT_EQ(second->log().find("Caches are synced"), std::string::npos) << second->log();
  first->signal(SIGTERM);
  EXPECT_EQ(first->wait(std::chrono::milliseconds(k_patience)), 0) << first->log();
  server.create(pod_json("a", "100m"));
  ASSERT_TRUE(wait([&] { return bound() == 1; })) << second->log();
  EXPECT_EQ(fetch(port, "/readyz", ""), std::pair(200, std::string("ok")));
}

TEST_F(Failover, ReplicasThatComeAndGoBindEveryPodOnce) {
  std::mt19937_64 random(seed_of_this_run());
  for (int i = 0; i < 20; ++i) server.create(node_json(i, 4));
  std::vector<std::unique_ptr<ChildProcess>> replicas;
  int starts = 0;
  const auto replica = [&] { return start(election(), "log" + std::to_string(starts++)); };
  for (int i = 0; i < 2; ++i) replicas.push_back(replica());
  std::size_t pods = 0;
  constexpr std::size_t k_rounds = 6, k_pods_per_round = 60;
  for (std::size_t round = 0; round < k_rounds; ++round) {
    for (std::size_t i = 0; i < k_pods_per_round; ++i) server.create(pod_json("p" + std::to_string(pods++), "200m"));
    // Somewhere in the middle of the round's pods.
    const std::size_t some = pods - k_pods_per_round + random() % k_pods_per_round;
    ASSERT_TRUE(wait([&] { return bound() >= some; })) << bound() << " of " << pods;
    auto& victim = replicas[random() % replicas.size()];
    const bool politely = random() % 3 == 0;
    // A process handles SIGTERM from this line of its log on.
    if (politely) {
      ASSERT_TRUE(wait([&] { return victim->log().find("Starting berth") != std::string::npos; })) << victim->log();
    }
    victim->signal(politely ? SIGTERM : SIGKILL);
    const std::optional<int> status = victim->wait(std::chrono::milliseconds(k_patience));
    if (politely) {
      EXPECT_EQ(status, 0) << victim->log();
    }
    victim = replica();
  }
  ASSERT_TRUE(wait([&] { return bound() == pods; })) << bound() << " of " << pods << '\n' << replicas[0]->log();
  expect_each_bound_once(pods);
  std::map<std::string, int> per_node;
  for (const auto& [pod, node] : placements()) ++per_node[node];
  for (const auto& [node, count] : per_node) EXPECT_LE(count, 20) << node << " holds more than it has";
}

/// A replica whose filter may never come back, and one whose filter does: the same policy, by name.
class StuckLeader : public Failover {
 protected:
  std::vector<std::string> with_animal(const std::string& name) { return election(animal_alone(name)); }
  std::vector<std::string> animal_alone(const std::string& name) {
    const fs::path folder = fs::path(directory.path()) / name;
    fs::create_directory(folder);
    fs::copy_file(fs::path(variable("BERTH_ZOO_ANIMALS")) / (name + ".so"), folder / "animal.so");
    for (const char* needed : {"priority_sort.so", "default_binder.so"})
      fs::copy_file(fs::path(variable("BERTH_PLUGIN_DIR")) / needed, folder / needed);
    const std::string config = directory.write(name + ".yaml", R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: )" + kubeconfig + R"(}
profiles:
- plugins:
    multiPoint:
      enabled: [{name: PrioritySort}, {name: zoo.example.com/Animal}, {name: DefaultBinder}]
      disabled: [{name: "*"}]
)");
    return {"--config=" + config, "--plugin-dir=" + folder.string()};
  }
};

TEST_F(StuckLeader, LosesItsLeaseToOneThatDecides) {
  server.create(node_json(1, 4));
  auto stuck = start(with_animal("hangs_in_filter"), "stuck");
  ASSERT_TRUE(wait([&] { return !holder().empty(); })) << stuck->log();
  const std::string leader = holder();
  auto other = start(with_animal("good"), "other");
  server.create(pod_json("p", "100m"));
  // It renews no more and so loses what it cannot use; it needs no order to go.
  EXPECT_EQ(stuck->wait(std::chrono::milliseconds(k_patience)), 1) << stuck->log();
  EXPECT_NE(stuck->log().find("the lease is not renewed"), std::string::npos) << stuck->log();
  ASSERT_TRUE(wait([&] { return bound() == 1; })) << other->log();
  EXPECT_NE(holder(), leader);
}

TEST_F(StuckLeader, BindsOtherPodsWhenPreBindsDoNotReturn) {
  constexpr int k_stuck = 6, k_pods = 12;
  server.create(node_json(1, 64));
  const std::uint16_t port = free_port();
  std::vector<std::string> flags = with_animal("hangs_in_pre_bind");
  for (const std::string& flag : served_on(port)) flags.push_back(flag);
  flags.push_back("--plugin-call-limit=2s");
  auto berth = start(flags);
  for (int i = 0; i < k_pods; ++i) server.create(pod_json("p" + std::to_string(i), "100m"));
  ASSERT_TRUE(wait([&] { return bound() == k_pods - k_stuck; })) << bound() << '\n' << berth->log();
  // The health checks fail, and the one for plugins names the call.
  ASSERT_TRUE(wait([&] { return fetch(port, "/livez", "").first == 500; })) << berth->log();
  EXPECT_EQ(fetch(port, "/healthz", "").first, 500);
  EXPECT_NE(fetch(port, "/livez/plugin-calls", "test-token").second.find("pre_bind of plugin zoo.example.com/Animal"),
            std::string::npos);
  const std::string metrics = fetch(port, "/metrics", "test-token").second;
  EXPECT_NE(metrics.find("berth_oldest_plugin_call_seconds{"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find(R"(point="pre_bind")"), std::string::npos) << metrics;
  ASSERT_TRUE(wait([&] { return berth->log().find("A call into a plugin has not returned") != std::string::npos; }));
  EXPECT_NE(holder(), "");
  // They do not keep it from ending either.
  const auto told = Time::now();
  berth->signal(SIGTERM);
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 0) << berth->log();
  EXPECT_LT(Time::now() - told, std::chrono::seconds(5) * k_slowdown) << berth->log();
  EXPECT_EQ(holder(), "");
}

TEST_F(StuckLeader, BindsOtherPodsWhileAHintDoesNotReturn) {
  server.create(node_json(1, 64));
  const std::uint16_t port = free_port();
  std::vector<std::string> flags = with_animal("hangs_in_hint");
  for (const std::string& flag : served_on(port)) flags.push_back(flag);
  flags.push_back("--plugin-call-limit=2s");
  auto berth = start(flags);
  server.create(pod_json("rejected", "100m"));
  ASSERT_TRUE(wait([&] { return text_at(stored("rejected"), "/status/conditions/0/reason") == "Unschedulable"; }))
      << berth->log();
  const std::string leader = holder();
  // The plugin is asked about the pod, for each of these, and does not come back from the first.
  constexpr int k_nodes = 20, k_pods = 50;
  for (int i = 0; i < k_nodes; ++i) server.create(node_json(2 + i, 1));
  for (int i = 0; i < k_pods; ++i) server.create(pod_json("p" + std::to_string(i), "100m"));
  // All others are bound, and so is that pod: no answer means that it is tried again.
  ASSERT_TRUE(wait([&] { return bound() == k_pods + 1; })) << bound() << '\n' << berth->log();
  EXPECT_EQ(count_in(berth->log(), "A queueing hint does not answer"), 1) << berth->log();
  ASSERT_TRUE(wait([&] { return fetch(port, "/livez", "").first == 500; })) << berth->log();
  const std::string red = fetch(port, "/livez/plugin-calls", "test-token").second;
  EXPECT_NE(red.find("hint of plugin zoo.example.com/Animal"), std::string::npos) << red;
  EXPECT_NE(red.find("for pod default/rejected"), std::string::npos) << red;
  const std::string metrics = fetch(port, "/metrics", "test-token").second;
  EXPECT_NE(metrics.find(R"(berth_oldest_plugin_call_seconds{plugin="zoo.example.com/Animal",point="hint"})"),
            std::string::npos)
      << metrics;
  // It leads, and hears of the cluster.
  server.create(pod_json("late", "100m"));
  ASSERT_TRUE(wait([&] { return bound() == k_pods + 2; })) << berth->log();
  EXPECT_EQ(holder(), leader);
  const auto told = Time::now();
  berth->signal(SIGTERM);
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 0) << berth->log();
  EXPECT_LT(Time::now() - told, std::chrono::seconds(5) * k_slowdown) << berth->log();
  EXPECT_EQ(holder(), "");
}

TEST_F(Failover, ALeaderThatWasStoppedForTooLongWritesNothing) {
  server.create(node_json(1, 64));
  auto first = start(election(), "first");
  server.create(pod_json("a", "100m"));
  ASSERT_TRUE(wait([&] { return bound() == 1; })) << first->log();
  const std::string leader = holder();
  auto second = start(election(), "second");
  ASSERT_TRUE(wait([&] { return second->log().find("Caches are synced") != std::string::npos; }));
  first->signal(SIGSTOP);
  // It finds these when it goes on: decisions that another has made meanwhile.
  for (int i = 0; i < 20; ++i) server.create(pod_json("p" + std::to_string(i), "10m"));
  ASSERT_TRUE(wait([&] { return bound() == 21 && holder() != leader; })) << second->log();
  first->signal(SIGCONT);
  EXPECT_EQ(first->wait(std::chrono::milliseconds(k_patience)), 1) << first->log();
  EXPECT_EQ(count_in(first->log(), "Leaderelection lost"), 1) << first->log();
  expect_each_bound_once(21);
  // Each binding was sent once: by the other.
  std::map<std::string, int> sent;
  for (const ApiServer::Seen& seen : server.writes())
    if (seen.target.ends_with("/binding")) ++sent[seen.target];
  for (const auto& [target, times] : sent) EXPECT_EQ(times, 1) << target;
}

TEST_F(Failover, ABacklogDoesNotHoldUpTheEnd) {
  server.create(node_json(1, 64));
  server.create(node_json(2, 64));
  auto berth = start(election({"--kube-api-qps=5", "--kube-api-burst=1"}));
  for (int i = 0; i < 200; ++i) server.create(pod_json("p" + std::to_string(i), "10m"));
  ASSERT_TRUE(wait([&] { return bound() >= 1; })) << berth->log();
  const auto told = Time::now();
  berth->signal(SIGTERM);
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 0) << berth->log();
  EXPECT_LT(Time::now() - told, std::chrono::seconds(5) * k_slowdown) << berth->log();
  EXPECT_EQ(holder(), "") << "given back";
  EXPECT_LT(bound(), 150U) << "or there was no backlog";
  EXPECT_EQ(count_in(berth->log(), "Error scheduling pod"), 0) << berth->log();
}

TEST_F(Failover, AnEndIsHeardWhileTheApiServerIsWaitedFor) {
  const SilentServer silent;
  const std::string unanswered =
      directory.write("silent",
                      "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: "
                      "{server: 'https://" +
                          silent.authority() +
                          "'}}]\ncontexts: [{name: c, context: "
                          "{cluster: c, user: u}}]\nusers: [{name: u, user: {token: t}}]\n");
  auto berth =
      start({"--kubeconfig=" + unanswered, "--bind-address=127.0.0.1", "--secure-port=" + std::to_string(free_port()),
             "--authentication-kubeconfig=" + unanswered, "--authorization-kubeconfig=" + unanswered});
  ASSERT_TRUE(wait([&] { return berth->log().find("Starting berth") != std::string::npos; })) << berth->log();
  const auto told = Time::now();
  berth->signal(SIGTERM);
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 0) << berth->log();
  EXPECT_LT(Time::now() - told, std::chrono::seconds(5) * k_slowdown) << berth->log();
}

TEST_F(StuckLeader, HearsSignalsAlsoWhileItIsDumped) {
  server.create(node_json(1, 4));
  std::vector<std::string> flags = animal_alone("hangs_in_filter");
  flags.push_back("--leader-elect=false");
  auto stuck = start(flags, "stuck");
  ASSERT_TRUE(wait([&] { return stuck->log().find("Caches are synced") != std::string::npos; })) << stuck->log();
  server.create(pod_json("p", "100m"));
  ASSERT_TRUE(wait([&] {
    stuck->signal(SIGUSR2);
    return stuck->log().find("cycle: one has been running") != std::string::npos;
  })) << stuck->log();
  EXPECT_NE(stuck->log().find("queue: {"), std::string::npos) << stuck->log();
  stuck->signal(SIGTERM);
  ASSERT_TRUE(wait([&] { return stuck->log().find("draining") != std::string::npos; })) << stuck->log();
  stuck->signal(SIGTERM);
  EXPECT_EQ(stuck->wait(std::chrono::milliseconds(k_patience)), 1) << stuck->log();
}

}  // namespace
}  // namespace berth::tests
