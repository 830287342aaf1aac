// SPDX-License-Identifier: Apache-2.0
// `berth run` with extenders, against the test API server.
#include <atomic>
#include <future>
#include <map>
#include <set>

#include "integration/run_fixture.hpp"
#include "support/servers/scripted_extender.hpp"

namespace berth::tests {
namespace {

using Question = ScriptedExtender::Question;
using Answer = ScriptedExtender::Answer;

class ExtenderRun : public RunTest {
 protected:
  /// A configuration with that list of extenders.
  std::string configuration(const std::string& extenders, const std::string& more = "") {
    return directory.write("berth.yaml",
                           "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                           "clientConnection: {kubeconfig: \"" +
                               kubeconfig + "\", qps: -1}\n" + more + "extenders: " + extenders + "\n");
  }
  /// Creates the binding that a scheduler asks for.
  Answer bind(const Question& question) {
    const std::string name(question.body.at("PodName").as_string()), ns(question.body.at("PodNamespace").as_string());
    const auto done =
        server.store().bind(ns, name,
                            {{"metadata", {{"name", name}, {"namespace", ns}, {"uid", question.body.at("PodUID")}}},
                             {"target", {{"kind", "Node"}, {"name", question.body.at("Node")}}}});
    return done.ok() ? Answer{"{}"} : Answer::of({{"Error", "no binding"}});
  }
  static Answer only(const std::string& node, const Question& question) {
    json::array items;
    for (const json::value& one : question.body.at("Nodes").at("items").as_array())
      if (one.at("metadata").at("name") == node.c_str()) items.push_back(one);
    return Answer::of({{"Nodes", {{"items", items}}}});
  }
  std::size_t bindings_by_berth() {
    std::size_t count = 0;
    for (const ApiServer::Seen& write : server.writes()) count += write.target.ends_with("/binding");
    return count;
  }
};

TEST_F(ExtenderRun, FiltersWithWholeObjectsAndBindsByItself) {
  ScriptedExtender extender(
      [this](const Question& question) { return question.verb == "bind" ? bind(question) : only("n3", question); });
  for (int i = 0; i < 5; ++i) server.create(node_json(i, 64));
  const std::string config =
      configuration("[{urlPrefix: \"" + extender.url() + "\", filterVerb: filter, bindVerb: bind}]");
  auto berth = start({"--leader-elect=false", "--config", config});
  for (int i = 0; i < 20; ++i) server.create(pod_json("p" + std::to_string(i), "100m"));
  ASSERT_TRUE(wait([&] { return bound() == 20; })) << berth->log();
  for (const auto& [pod, node] : placements()) EXPECT_EQ(node, "n3") << pod;
  EXPECT_EQ(bindings_by_berth(), 0U);
  const Question asked = extender.questions("filter").at(0);
  const json::value& node = asked.body.at("Nodes").at("items").at(0);
  // What no policy reads comes along as well.
  EXPECT_EQ(node.at("status").at("capacity").at("memory"), "64Gi");
  EXPECT_EQ(node.at("metadata").at("labels").at("kubernetes.io/hostname"), node.at("metadata").at("name"));
  EXPECT_EQ(asked.body.at("Pod").at("spec").at("containers").at(0).at("image"), "i");
  EXPECT_FALSE(asked.body.at("Pod").as_object().contains("kind"));
  berth->signal(SIGTERM);
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 0) << berth->log();
}

TEST_F(ExtenderRun, BindingsThatWaitForAConnectionDoNotGoToANodeThatWasDeletedMeanwhile) {
  constexpr std::size_t k_connections = 32, k_pods = 40;  // of the client for bindings
  std::promise<void> goes_on;
  std::shared_future<void> until(goes_on.get_future());
  ScriptedExtender extender([&](const Question& question) {
    until.wait();
    return bind(question);
  });
  server.create(node_json(1, 64));
  auto berth = start({"--leader-elect=false", "--v=3", "--config",
                      configuration("[{urlPrefix: \"" + extender.url() + "\", bindVerb: bind, httpTimeout: 60s}]")});
  for (std::size_t i = 0; i < k_pods; ++i) server.create(pod_json("p" + std::to_string(i), "100m"));
  const auto said = [&](const std::string& what) {
    const std::string log = berth->log();
    std::size_t count = 0;
    for (std::size_t at = log.find(what); at != std::string::npos; at = log.find(what, at + 1)) ++count;
    return count;
  };
  ASSERT_TRUE(wait([&] { return said("Attempting to bind pod to node") == k_pods; })) << berth->log();
  server.store().remove(*server.store().find("", "v1", "nodes"), "", "n1", json::parse(R"({"gracePeriodSeconds":0})"));
  ASSERT_TRUE(wait([&] { return said("Delete event for node") == 1; })) << berth->log();
  server.create(node_json(2, 64));
  goes_on.set_value();
  ASSERT_TRUE(wait([&] { return bound() == k_pods; })) << bound() << '\n' << berth->log();
  std::map<std::string, std::size_t> asked;
  for (const Question& question : extender.questions("bind"))
    ++asked[std::string(question.body.at("Node").as_string())];
  EXPECT_LE(asked["n1"], k_connections) << "those that were on their way";
  EXPECT_GE(asked["n2"], k_pods - k_connections);
  EXPECT_NE(berth->log().find("was deleted after the decision"), std::string::npos) << berth->log();
}

/// The extender of plugins/gpushare, which reads pods and writes bindings by itself.
class GpuShareExtenderRun : public ExtenderRun {
 protected:
  void start_extender() {
    extender = std::make_unique<ChildProcess>(
        std::vector<std::string>{"python3", variable("BERTH_GPUSHARE_EXTENDER"), "--refresh-s", "0", "--api",
                                 server.url(), "--ca-file", directory.write("ca.pem", server.authority()),
                                 "--token-file", directory.write("token", ApiServerOptions().token)},
        directory.path() + "/extender-log");
    ASSERT_TRUE(wait([&] { return extender->log().ends_with('\n'); })) << extender->log();
    const std::string line = extender->log();
    ASSERT_EQ(line.find("listening on http://"), 0U) << line;
    url = line.substr(line.find("http://"), line.find('\n') - line.find("http://"));
  }
  void gpu_pod(const std::string& name, int memory, const std::string& node = "") {
    server.create(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                  R"(","namespace":"default"},"spec":{)" + (node.empty() ? "" : R"("nodeName":")" + node + R"(",)") +
                  R"("containers":[{"name":"c","image":"i","resources":{"limits":{"example.com/gpu-mem":")" +
                  std::to_string(memory) + R"("}}}]}})");
  }
  std::string card(const std::string& pod) {
    return text_at(stored(pod), "/metadata/annotations/example.com~1gpu-card");
  }
  std::string message(const std::string& pod) { return text_at(stored(pod), "/status/conditions/0/message"); }

  std::unique_ptr<ChildProcess> extender;
  std::string url;
};

TEST_F(GpuShareExtenderRun, WritesTheCardAndCountsPodsThatNameNoneOnEveryCard) {
  ASSERT_NO_FATAL_FAILURE(start_extender());
  const std::string room =
      R"({"cpu":"8","memory":"16Gi","pods":"110","example.com/gpu-mem":"32","example.com/gpu-count":"2"})";
  server.create(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{"capacity":)" + room +
                R"(,"allocatable":)" + room + "}}");
  gpu_pod("old", 8, "n");
  auto berth = start({"--leader-elect=false", "--config",
                      configuration("[{urlPrefix: \"" + url +
                                    "\", filterVerb: filter, prioritizeVerb: prioritize, bindVerb: bind, weight: 1, "
                                    "managedResources: [{name: example.com/gpu-mem, ignoredByScheduler: true}]}]")});
  gpu_pod("big", 10);
  ASSERT_TRUE(wait([&] { return !message("big").empty(); })) << berth->log() << extender->log();
  EXPECT_NE(message("big").find("1 node(s) had no card with enough free GPU memory"), std::string::npos)
      << message("big");
  for (const char* pod : {"left", "right"}) gpu_pod(pod, 8);
  ASSERT_TRUE(wait([&] { return bound() == 3; })) << berth->log() << extender->log();
  EXPECT_EQ((std::set<std::string>{card("left"), card("right")}), (std::set<std::string>{"0", "1"}));
  EXPECT_EQ(placements()["big"], "");
  berth->signal(SIGTERM);
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 0) << berth->log();
}

TEST_F(ExtenderRun, ADryRunAsksForNoBinding) {
  ScriptedExtender extender([this](const Question& question) { return bind(question); });
  server.create(node_json(0, 64));
  server.create(pod_json("p", "100m"));
  auto berth = start({"--leader-elect=false", "--dry-run", "--config",
                      configuration("[{urlPrefix: \"" + extender.url() + "\", bindVerb: bind}]")});
  ASSERT_TRUE(wait([&] {
    return berth->log().find("would bind pod to node\" pod=\"default/p\" node=\"n0\"") != std::string::npos;
  })) << berth->log();
  EXPECT_TRUE(extender.questions().empty());
  EXPECT_EQ(bound(), 0U);
}

TEST_F(ExtenderRun, ALeaderThatWaitsForAnExtenderKeepsItsLease) {
  std::atomic<int> asked{0};
  ScriptedExtender extender([&](const Question& question) {
    Answer answer = Answer::of({{"NodeNames", question.body.at("NodeNames")}});
    if (asked++ == 0) answer.way = Answer::Way::silent;
    return answer;
  });
  server.create(node_json(0, 64));
  server.create(pod_json("p", "100m"));
  // Longer than a cycle may hang before the lease is left to run out.
  auto berth = start(
      {"--config", configuration("[{urlPrefix: \"" + extender.url() +
                                     "\", filterVerb: filter, nodeCacheCapable: true, httpTimeout: 6s}]",
                                 "leaderElection: {leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}\n")});
  ASSERT_TRUE(wait([&] { return bound() == 1; })) << berth->log();
  EXPECT_EQ(berth->log().find("the lease is not renewed"), std::string::npos) << berth->log();
  EXPECT_GE(asked, 2);
  berth->signal(SIGTERM);
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 0) << berth->log();
}

TEST_F(ExtenderRun, ASignalEndsTheWaitForAnExtender) {
  ScriptedExtender extender([](const Question&) { return Answer{"", 200, Answer::Way::silent}; });
  server.create(node_json(0, 64));
  server.create(pod_json("p", "100m"));
  auto berth = start({"--leader-elect=false", "--config",
                      configuration("[{urlPrefix: \"" + extender.url() +
                                    "\", filterVerb: filter, nodeCacheCapable: true, httpTimeout: 10m}]")});
  ASSERT_TRUE(extender.await_questions(1)) << berth->log();
  berth->signal(SIGTERM);
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 0) << berth->log();
  EXPECT_EQ(bound(), 0U);
}

TEST_F(ExtenderRun, AnExtenderThatCannotBeUsedEndsTheStart) {
  auto berth = start({"--leader-elect=false", "--config",
                      configuration("[{urlPrefix: \"https://h\", filterVerb: f, tlsConfig: {caFile: /nonexistent}}]")});
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)), 1);
  EXPECT_NE(berth->log().find(
                "extenders[0]: extender https://h cannot be used: certificate authority /nonexistent cannot be read"),
            std::string::npos)
      << berth->log();
}

}  // namespace
}  // namespace berth::tests
