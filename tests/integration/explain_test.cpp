// SPDX-License-Identifier: Apache-2.0
// `berth explain` about a live cluster, alone and with a running scheduler.
#include <algorithm>
#include <filesystem>

#include "integration/serving_fixture.hpp"
#include "support/servers/scripted_extender.hpp"

namespace berth::tests {
namespace {

struct Said {
  int status = -1;
  std::string text;
  json::value value;  // of the line that is an object
};

class Explain : public ServingTest {
 protected:
  /// Three nodes of 4 cores and one of 64 that is kept for others; a pod asks for 32.
  void make_cluster() {
    for (int i = 0; i < 3; ++i) server.create(node_json(i, 4));
    server.create(
        R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"large","labels":{"kubernetes.io/hostname":"large"}},)"
        R"("spec":{"taints":[{"key":"dedicated","value":"gpu","effect":"NoSchedule"}]},)"
        R"("status":{"allocatable":{"cpu":"64","memory":"64Gi","pods":"110"}}})");
    server.create(pod_json("huge", "32"));
  }
  Said run(std::vector<std::string> more, const std::map<std::string, std::string>& environment = {}) {
    std::vector<std::string> command{variable("BERTH"), "explain", "--plugin-dir", plugin_dir};
    command.insert(command.end(), more.begin(), more.end());
    ChildProcess berth(command, directory.path() + "/explained", environment);
    Said out;
    out.status = berth.wait(std::chrono::milliseconds(k_patience)).value_or(-1);
    out.text = berth.log();
    std::istringstream lines(out.text);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with('{')) out.value = json::parse(line);
    return out;
  }
  Said live(std::vector<std::string> more) {
    more.insert(more.end(), {"--kubeconfig", kubeconfig});
    return run(std::move(more));
  }
  std::vector<std::string> with_scheduler(std::vector<std::string> more) const {
    more.insert(more.end(), {"--scheduler", "https://127.0.0.1:" + std::to_string(port_), "--scheduler-insecure"});
    return more;
  }
  /// Of `berth ui` with the scheduler.
  json::value plugin_of_page(std::string_view name) {
    ChildProcess page(with_scheduler({variable("BERTH"), "ui", "--plugin-dir", plugin_dir, "--kubeconfig", kubeconfig}),
                      directory.path() + "/page");
    std::string url;
    const bool is_served = wait([&] {
      const std::string said = page.log();
      const std::size_t at = said.find("http://127.0.0.1:"), end = said.find('\n', at);
      if (at != said.npos && end != said.npos) url = said.substr(at, end - at);
      return !url.empty();
    });
    EXPECT_TRUE(is_served) << page.log();
    if (!is_served) return json::object();
    const std::size_t path = url.find('/', std::string_view("http://").size());
    net::Request request;
    request.target = url.substr(path) + "?data";
    request.accept = "*/*";
    const Result<net::Response> answer = ask_at(url.substr(0, path), request, "");
    EXPECT_TRUE(answer.ok() && answer->status == 200) << (answer.ok() ? answer->body : answer.error().message);
    if (!answer.ok() || answer->status != 200) return json::object();
    const json::value data = json::parse(answer->body);
    for (const json::value& plugin : data.at("plugins").as_array())
      if (text_at(plugin, "/name") == name) return plugin;
    ADD_FAILURE() << "no plugin " << name;
    return json::object();
  }
  static std::vector<std::string> options(const Said& said) {
    std::vector<std::string> out;
    for (const json::value& option : said.value.at("fit").at("options").as_array())
      out.emplace_back(option.at("text").as_string());
    return out;
  }
};

TEST_F(Explain, SaysWhoRejectsAndWhatWouldMakeItFit) {
  make_cluster();
  const std::size_t writes = server.writes().size();
  const Said said = live({"default/huge", "-o", "json"});
  ASSERT_EQ(said.status, 0) << said.text;
  EXPECT_EQ(said.value.at("state").as_string(), "pending") << said.text;
  EXPECT_EQ(said.value.at("judgedNodes").as_int64(), 4) << said.text;
  EXPECT_EQ(said.value.at("feasibleNodes").as_int64(), 0) << said.text;
  const json::array& rejections = said.value.at("rejections").as_array();
  ASSERT_EQ(rejections.size(), 2U) << said.text;
  EXPECT_EQ(rejections[0].at("reason").as_string(), "Insufficient cpu");
  EXPECT_EQ(rejections[0].at("nodes").as_int64(), 3);
  EXPECT_EQ(rejections[1].at("plugin").as_string(), "TaintToleration");
  EXPECT_EQ(rejections[1].at("nodes").as_int64(), 1);
  EXPECT_EQ(options(said),
            (std::vector<std::string>{"with 4 instead of 32 cpu", "with a toleration of dedicated=gpu:NoSchedule"}))
      << said.text;
  EXPECT_TRUE(said.value.at("attempts").as_array().empty()) << "none was made: " << said.text;
  EXPECT_EQ(server.writes().size(), writes) << "it only looks";
}

TEST_F(Explain, HasTheMessageOfTheSchedulerThatTriedIt) {
  make_cluster();
  server.create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"told","namespace":"default"},"spec":{"containers":)"
      R"([{"name":"c","image":"i","resources":{"requests":{"cpu":"32"}}}]},"status":{"conditions":[{"type":)"
      R"("PodScheduled","status":"False","reason":"Unschedulable","message":"said by another"}]}})");
  const Said said = live({"default/told"});
  EXPECT_EQ(said.status, 0) << said.text;
  for (const char* part : {"default/told: pending for ", ": said by another\n", "WHAT WOULD MAKE IT FIT\n",
                           "with 4 instead of 32 cpu", "REJECTED BY (4 of 4 nodes)\n", "Insufficient cpu"})
    EXPECT_NE(said.text.find(part), std::string::npos) << part << said.text;
  EXPECT_LE(std::count(said.text.begin(), said.text.end(), '\n'), 24) << "one screen\n" << said.text;
}

TEST_F(Explain, SaysAllThatKeepsItFromANode) {
  make_cluster();
  const Said said = live({"default/huge", "--why-not", "large", "-o", "json"});
  ASSERT_EQ(said.status, 0) << said.text;
  EXPECT_EQ(said.value.at("fit").at("whyNot").at("plugin").as_string(), "TaintToleration") << said.text;
  const Said unknown = live({"default/huge", "--why-not", "small"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_NE(unknown.text.find("there is no node \"small\""), std::string::npos) << unknown.text;
}

TEST_F(Explain, TheExitStatusTellsPendingPods) {
  make_cluster();
  EXPECT_EQ(live({"default/huge", "--fail-on-pending"}).status, 3);
  const Said none = live({"default/nosuch"});
  EXPECT_EQ(none.status, 1) << none.text;
  EXPECT_NE(none.text.find("there is no pod default/nosuch"), std::string::npos) << none.text;
  EXPECT_EQ(run({"default/huge", "--cluster", "x", "--kubeconfig", kubeconfig}).status, 2);
  EXPECT_EQ(run({}).status, 2);
}

TEST_F(Explain, FindsTheKubeconfigAsKubectlDoes) {
  make_cluster();
  EXPECT_EQ(run({"default/huge", "--fail-on-pending"}, {{"KUBECONFIG", kubeconfig}}).status, 3);
  const Said none = run({"default/huge"}, {{"KUBECONFIG", ""}, {"HOME", directory.path()}});
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.text.find("no cluster is named"), std::string::npos) << none.text;
}

TEST_F(Explain, WithASchedulerItHasItsQueueAndItsPolicies) {
  auto berth = start_serving();
  const Said said = live(with_scheduler({"default/huge", "-o", "json"}));
  ASSERT_EQ(said.status, 0) << said.text << berth->log();
  const json::value& word = said.value.at("scheduler");
  EXPECT_EQ(word.at("place").as_string(), "unschedulable") << said.text;
  EXPECT_GE(word.at("attempts").as_int64(), 1) << said.text;
  EXPECT_EQ(word.at("rejectedBy").at(0).as_string(), "NodeResourcesFit") << said.text;
  EXPECT_FALSE(word.at("wokenBy").as_array().empty()) << said.text;
  ASSERT_EQ(said.value.at("attempts").as_array().size(), 1U) << said.text;
  EXPECT_TRUE(said.value.at("message").as_string().starts_with("0/3 nodes are available: 3 Insufficient cpu"))
      << said.text;
  EXPECT_EQ(options(said), std::vector<std::string>{"with 3.9 instead of 100 cpu"}) << said.text;
  EXPECT_EQ(said.text.find("default policies"), std::string::npos) << said.text;

  const Said bound = live(with_scheduler({"default/p0"}));
  EXPECT_EQ(bound.status, 0) << bound.text;
  EXPECT_NE(bound.text.find("default/p0: on n"), std::string::npos) << bound.text;
}

TEST_F(Explain, ASchedulerDoesNotSayWherePluginsAre) {
  make_cluster();
  const std::string elsewhere = directory.path() + "/elsewhere";
  std::filesystem::create_directory(elsewhere);
  std::filesystem::permissions(elsewhere, std::filesystem::perms(0755));
  const json::value page = {{"componentconfig",
                             {{"apiVersion", "config.berth.dev/v1alpha1"},
                              {"kind", "BerthConfiguration"},
                              {"plugins", {{"directory", elsewhere}}}}}};
  const auto answer = [&](const ScriptedExtender::Question& question) {
    return question.verb == "configz" ? ScriptedExtender::Answer::of(page)
                                      : ScriptedExtender::Answer{"no such pod", 404};
  };
  ScriptedExtender scheduler(answer, {.tls = true});
  port_ = scheduler.port();
  const Said said = live(with_scheduler({"default/huge"}));
  EXPECT_EQ(said.status, 0) << said.text;
  EXPECT_NE(said.text.find("plugins.directory " + elsewhere + " is not used"), std::string::npos) << said.text;
}

TEST_F(Explain, ThePageHasWhatCallsIntoThePluginsOfTheSchedulerTook) {
  auto berth = start_serving();
  const json::value plugin = plugin_of_page("NodeResourcesFit");
  EXPECT_GT(plugin.at("calls").as_int64(), 0) << "the scheduler has decided, and not the page";
}

TEST_F(Explain, APageMayLackWhatItsUserMayNotAskTheScheduler) {
  make_cluster();
  const json::value config = {
      {"componentconfig", {{"apiVersion", "config.berth.dev/v1alpha1"}, {"kind", "BerthConfiguration"}}}};
  const auto answer = [&](const ScriptedExtender::Question& question) {
    if (question.verb == "configz") return ScriptedExtender::Answer::of(config);
    return question.verb == "queue" ? ScriptedExtender::Answer{"[]", 200} : ScriptedExtender::Answer{"forbidden", 403};
  };
  ScriptedExtender scheduler(answer, {.tls = true});
  port_ = scheduler.port();
  EXPECT_FALSE(plugin_of_page("NodeResourcesFit").as_object().contains("calls"));
}

TEST_F(Explain, TheCertificateOfTheSchedulerIsVerifiedUnlessToldOtherwise) {
  auto berth = start_serving();
  const Said said = live({"default/huge", "--scheduler", "https://127.0.0.1:" + std::to_string(port_)});
  EXPECT_EQ(said.status, 1);
  EXPECT_NE(said.text.find("certificate"), std::string::npos) << said.text;
  const Said plain = live({"default/huge", "--scheduler", "http://127.0.0.1:" + std::to_string(port_)});
  EXPECT_EQ(plain.status, 1);
  EXPECT_NE(plain.text.find("https"), std::string::npos) << plain.text;
}

std::string note_of(const json::value& event) { return text_at(event, "/note"); }

TEST_F(Explain, AnEventOfAPodThatWaitsLongSaysWhatWouldMakeItFit) {
  make_cluster();
  const std::string config = directory.write("berth.yaml", R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: )" + kubeconfig + R"(}
---
apiVersion: config.berth.dev/v1alpha1
kind: BerthConfiguration
explainAfter: 1s
)");
  port_ = free_port();
  auto berth = start({"--config", config, "--bind-address=127.0.0.1", "--secure-port=" + std::to_string(port_),
                      "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig});
  const auto events = [&] {
    std::vector<json::value> out;
    for (const auto& event :
         server.store().list(*server.store().find("events.k8s.io", "v1", "events"), "", "", 0).objects)
      if (json::value one = json::parse(event->text); text_at(one, "/regarding/name") == "huge")
        out.push_back(std::move(one));
    return out;
  };
  const auto message = [&] { return text_at(stored("huge"), "/status/conditions/0/message"); };
  ASSERT_TRUE(wait([&] { return !events().empty() && !message().empty(); })) << berth->log();
  EXPECT_EQ(note_of(events().front()), message()) << "it had not waited yet";
  const auto found = [&] {
    return metrics().find("berth_explained_events_searches_total{result=\"found\"} 1") != std::string::npos;
  };
  ASSERT_TRUE(wait(found)) << berth->log();
  EXPECT_EQ(events().size(), 1U) << "there is no event for its sake";
  // Another attempt has another event: the node has room, and is kept for others.
  server.create(
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"large-2"},"spec":{"taints":[{"key":"dedicated",)"
      R"("value":"db","effect":"NoSchedule"}]},"status":{"allocatable":{"cpu":"64","memory":"64Gi","pods":"110"}}})");
  ASSERT_TRUE(wait([&] {
    const auto all = events();
    return std::any_of(all.begin(), all.end(),
                       [](const auto& one) { return note_of(one).find('\n') != std::string::npos; });
  })) << berth->log();
  for (const json::value& event : events()) {
    const std::string note = note_of(event);
    const std::size_t line = note.find('\n');
    if (line == std::string::npos) continue;
    EXPECT_TRUE(note.starts_with("0/5 nodes are available: ")) << note;
    EXPECT_EQ(
        note.substr(line + 1),
        "It would fit with 4 instead of 32 cpu (3 nodes); with a toleration of dedicated=gpu:NoSchedule (1 node).")
        << "as of the search before";
  }
  EXPECT_EQ(message().find('\n'), std::string::npos) << "a condition has no line";
  berth->signal(SIGTERM);
  EXPECT_EQ(berth->wait(std::chrono::milliseconds(k_patience)).value_or(-1), 0) << berth->log();
}

TEST_F(Explain, AServerThatRefusesIsNamedWithItsWords) {
  std::ofstream(kubeconfig + "-bad") << [&] {
    std::string text = server.kubeconfig();
    const std::size_t at = text.find("test-token");
    return text.replace(at, 10, "other-token");
  }();
  const Said said = run({"default/huge", "--kubeconfig", kubeconfig + "-bad"});
  EXPECT_EQ(said.status, 1);
  EXPECT_NE(said.text.find("nodes cannot be listed: "), std::string::npos) << said.text;
  const Said nowhere = run({"default/huge", "--kubeconfig", kubeconfig, "--server", "https://127.0.0.1:1"});
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_NE(nowhere.text.find("https://127.0.0.1:1: nodes cannot be listed: "), std::string::npos) << nowhere.text;
}

}  // namespace
}  // namespace berth::tests
