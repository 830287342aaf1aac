// SPDX-License-Identifier: Apache-2.0
// What `berth simulate --explain` says would make a pod fit does: on random clusters each change is made, and the pod is
// simulated again.
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>

#include "app/commands/simulate_command.hpp"
#include "support/seeds.hpp"
#include "text/json_object.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

using text::JsonObject;

struct RandomNode {
  std::string name, zone, pool;
  std::int64_t cpu = 0, memory_mib = 0;
  std::string taint;  // value of the key "dedicated"; empty: none
  bool is_cordoned = false;
};
struct RandomPod {
  std::string name, node, app;
  std::int64_t cpu = 0, memory_mib = 0, priority = 0, port = 0;
};
/// The pod that is to fit; each of its wishes can be changed.
struct Wishes {
  std::int64_t cpu = 0, memory_mib = 0;
  std::vector<std::string> tolerated;
  std::map<std::string, std::string> selector;
  std::vector<std::string> zones;  // required node affinity; none: no such term
  std::vector<std::int64_t> ports;
  std::vector<std::string> avoided;  // apps that it is not to share a node with
  std::int64_t max_skew = 0;         // over zones; 0: no constraint
};
struct Scenario {
  std::vector<RandomNode> nodes;
  std::vector<RandomPod> pods;
  Wishes wishes;
};

std::string list_of(const std::vector<std::string>& items) {
  return text::list_json(items, [](std::string& out, const std::string& item) { out += item; });
}
std::string containers(std::int64_t cpu, std::int64_t memory_mib, const std::vector<std::int64_t>& ports) {
  const std::string port_list = text::list_json(ports, [](std::string& out, std::int64_t port) {
    out += fmt::format(R"({{"containerPort":{0},"hostPort":{0}}})", port);
  });
  return fmt::format(R"([{{"name":"c","ports":{},"resources":{{"requests":{{"cpu":"{}m","memory":"{}Mi"}}}}}}])",
                     port_list, cpu, memory_mib);
}

std::string json_of(const Scenario& scenario) {
  std::vector<std::string> items;
  for (const RandomNode& node : scenario.nodes) {
    std::vector<std::string> taints;
    if (!node.taint.empty())
      taints.push_back(fmt::format(R"({{"key":"dedicated","value":"{}","effect":"NoSchedule"}})", node.taint));
    if (node.is_cordoned) taints.push_back(R"({"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"})");
    items.push_back(fmt::format(
        R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{0}","labels":{{"kubernetes.io/hostname":"{0}","zone":"{1}","pool":"{2}"}}}},)"
        R"("spec":{{"unschedulable":{3},"taints":{4}}},"status":{{"allocatable":{{"cpu":"{5}m","memory":"{6}Mi","pods":"20"}}}}}})",
        node.name, node.zone, node.pool, node.is_cordoned, list_of(taints), node.cpu, node.memory_mib));
  }
  for (const RandomPod& pod : scenario.pods)
    items.push_back(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","labels":{{"app":"{}"}}}},"spec":{{"nodeName":"{}","priority":{},"containers":{}}}}})",
        pod.name, pod.app, pod.node, pod.priority,
        containers(pod.cpu, pod.memory_mib, pod.port == 0 ? std::vector<std::int64_t>{} : std::vector{pod.port})));
  const Wishes& wishes = scenario.wishes;
  std::vector<std::string> tolerations, terms;
  for (const std::string& value : wishes.tolerated)
    tolerations.push_back(
        fmt::format(R"({{"key":"dedicated","operator":"Equal","value":"{}","effect":"NoSchedule"}})", value));
  JsonObject selector, affinity;
  for (const auto& [key, value] : wishes.selector) selector.text(key, value);
  if (!wishes.zones.empty())
    affinity.json(
        "nodeAffinity",
        fmt::format(
            R"({{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{{"matchExpressions":[)"
            R"({{"key":"zone","operator":"In","values":{}}}]}}]}}}})",
            text::list_json(wishes.zones)));
  for (const std::string& app : wishes.avoided)
    terms.push_back(fmt::format(
        R"({{"topologyKey":"kubernetes.io/hostname","labelSelector":{{"matchLabels":{{"app":"{}"}}}}}})", app));
  if (!terms.empty())
    affinity.json("podAntiAffinity",
                  fmt::format(R"({{"requiredDuringSchedulingIgnoredDuringExecution":{}}})", list_of(terms)));
  JsonObject spec;
  spec.number("priority", 50).text("preemptionPolicy", "Never").json("tolerations", list_of(tolerations));
  spec.json("nodeSelector", selector.done()).json("affinity", affinity.done());
  if (wishes.max_skew != 0)
    spec.json(
        "topologySpreadConstraints",
        fmt::format(
            R"([{{"maxSkew":{},"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{{"matchLabels":{{"app":"web"}}}}}}])",
            wishes.max_skew));
  spec.json("containers", containers(wishes.cpu, wishes.memory_mib, wishes.ports));
  items.push_back(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"app":"web"}},"spec":)" +
                  spec.done() + '}');
  return R"({"apiVersion":"v1","kind":"List","items":)" + list_of(items) + "}\n";
}

Scenario draw(std::mt19937_64& random) {
  const auto upto = [&](std::uint64_t most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  const auto one_in = [&](std::uint64_t n) { return random() % n == 0; };
  const auto pick = [&](std::initializer_list<const char*> words) {
    return std::string(*(words.begin() + static_cast<std::ptrdiff_t>(random() % words.size())));
  };
  Scenario out;
  const std::int64_t node_count = 1 + upto(4);
  for (std::int64_t i = 0; i < node_count; ++i) {
    RandomNode node{fmt::format("n{}", i),
                    pick({"a", "b"}),
                    pick({"x", "y"}),
                    2000 + 1000 * upto(4),
                    4096 + 1024 * upto(4),
                    "",
                    one_in(5)};
    if (one_in(4)) node.taint = pick({"gpu", "db"});
    out.nodes.push_back(node);
  }
  const std::int64_t pod_count = upto(14);
  // Two pods of one node never have the same host port: no scheduler places them so, and the first that goes takes the port
  // of both with it, here as upstream.
  std::set<std::pair<std::string, std::int64_t>> used_ports;
  for (std::int64_t i = 0; i < pod_count; ++i) {
    RandomPod pod{fmt::format("q{}", i),       out.nodes[static_cast<std::size_t>(upto(out.nodes.size() - 1))].name,
                  pick({"web", "db", "x"}),    100 + 100 * upto(8),
                  128 * (1 + upto(6)),         upto(1) * 100,
                  one_in(2) ? 80 + upto(1) : 0};
    if (pod.port != 0 && !used_ports.emplace(pod.node, pod.port).second) pod.port = 0;
    out.pods.push_back(std::move(pod));
  }
  Wishes& wishes = out.wishes;
  wishes.cpu = 250 + 250 * upto(14);
  wishes.memory_mib = 256 * (1 + upto(20));
  if (one_in(4)) wishes.tolerated.push_back(pick({"gpu", "db"}));
  if (one_in(2)) wishes.selector["pool"] = pick({"x", "y"});
  if (one_in(5)) wishes.selector["zone"] = pick({"a", "b", "c"});
  if (one_in(4)) wishes.zones = {pick({"a", "b", "c"})};
  if (one_in(2)) wishes.ports.push_back(80);
  if (one_in(4)) wishes.ports.push_back(81);
  if (one_in(3)) wishes.avoided.push_back(pick({"web", "db"}));
  if (one_in(2)) wishes.max_skew = 1;
  return out;
}

/// Makes the change that an option names. False: it is made by a flag.
bool make(const text::Value& option, Scenario& scenario) {
  const std::string_view kind = option.find("kind")->text();
  const text::Value& change = *option.find("change");
  const auto text_of = [&](std::string_view key) { return std::string(change.find(key)->text()); };
  Wishes& wishes = scenario.wishes;
  const bool is_all = change.find("all") != nullptr;
  if (kind == "resources") {
    for (const text::Value& request : change.find("requests")->elements()) {
      const std::int64_t to = *request.find("to")->integer();
      if (request.find("name")->text() == "cpu")
        wishes.cpu = to;
      else
        wishes.memory_mib = to >> 20;
    }
  } else if (kind == "toleration") {
    for (const text::Value& toleration : change.find("tolerations")->elements()) {
      if (toleration.find("key")->text() == "dedicated")
        wishes.tolerated.emplace_back(toleration.find("value")->text());
      // A cordoned node is entered by uncordoning it here: a toleration of its taint comes to the same.
      if (toleration.find("key")->text() != "dedicated")
        for (RandomNode& node : scenario.nodes) node.is_cordoned = false;
    }
  } else if (kind == "nodeSelector") {
    is_all ? wishes.selector.clear() : static_cast<void>(wishes.selector.erase(text_of("key")));
  } else if (kind == "nodeAffinity") {
    wishes.zones.clear();
  } else if (kind == "topologySpread") {
    wishes.max_skew = change.find("remove") != nullptr ? 0 : *change.find_path("maxSkew.to")->integer();
  } else if (kind == "hostPort") {
    is_all ? wishes.ports.clear() : static_cast<void>(std::erase(wishes.ports, *change.find("port")->integer()));
  } else if (kind == "podAntiAffinity") {
    wishes.avoided.clear();
  } else if (kind == "uncordon") {
    for (RandomNode& node : scenario.nodes)
      if (node.name == text_of("node")) node.is_cordoned = false;
  } else if (kind == "removePod") {
    std::erase_if(scenario.pods, [&](const RandomPod& pod) { return "default/" + pod.name == text_of("pod"); });
  } else {
    return false;
  }
  return true;
}

class FitProperties : public ::testing::Test {
 protected:
  FitProperties() : file_(std::filesystem::path(::testing::TempDir()) / fmt::format("fit-{}.json", ::getpid())) {}
  ~FitProperties() override { std::filesystem::remove(file_); }

  text::Document simulate(const Scenario& scenario, const std::function<void(SimulateOptions&)>& with) {
    std::ofstream(file_) << json_of(scenario);
    SimulateOptions options;
    options.cluster = {file_.string()};
    options.plugin_dir = std::getenv("BERTH_PLUGIN_DIR");
    options.output = "json";
    with(options);
    std::ostringstream out, err;
    EXPECT_EQ(run_simulate(options, out, err), 0) << err.str();
    text::Diagnostics problems;
    std::vector<text::Document> documents = text::parse_json(out.str(), "output", problems);
    EXPECT_EQ(documents.size(), 1u) << problems.render() << out.str();
    return documents.empty() ? text::Document() : std::move(documents.front());
  }
  std::string place_of_p(
      const Scenario& scenario, const std::function<void(SimulateOptions&)>& with = [](auto&) {}) {
    const text::Document output = simulate(scenario, with);
    for (const text::Value& pod : output.root().find("pods")->elements())
      if (pod.find("name")->text() == "p") return std::string(pod.find("node")->text());
    return {};
  }

  const std::filesystem::path file_;
};

TEST_F(FitProperties, EachChangeThatIsNamedIsEnough) {
  std::map<std::string, std::size_t> seen;
  for (const std::uint32_t seed : tests::seeds()) {
    std::mt19937_64 random(seed);
    const Scenario scenario = draw(random);
    const text::Document output = simulate(scenario, [](SimulateOptions& options) { options.explain = "default/p"; });
    const text::Value* const fit = output.root().find("fit");
    if (output.root().find("state")->text() != "pending") {
      EXPECT_EQ(fit, nullptr);
      continue;
    }
    ASSERT_NE(fit, nullptr) << "seed " << seed;
    const auto check = [&](const Scenario& changed, const text::Value& option, const std::string& node) {
      std::set<std::string> named;
      for (const text::Value& each : option.find("onNodes")->elements()) named.emplace(each.text());
      EXPECT_NE(node, "") << "seed " << seed << ": " << text::to_json(option) << '\n' << json_of(changed);
      if (option.find("nodes")->integer() == static_cast<std::int64_t>(named.size()) && !named.empty()) {
        EXPECT_TRUE(named.contains(node)) << "seed " << seed << ": " << node << " for " << text::to_json(option);
      }
    };
    for (const text::Value& option : fit->find("options")->elements()) {
      ++seen[std::string(option.find("kind")->text())];
      Scenario changed = scenario;
      if (make(option, changed)) {
        check(changed, option, place_of_p(changed));
      } else {
        const std::string like(option.find_path("change.like")->text());
        const std::string node = place_of_p(changed, [&](SimulateOptions& options) {
          options.changes.push_back({WhatIfChange::Kind::add_nodes, "1", like});
        });
        EXPECT_EQ(node, like + "-new-1") << "seed " << seed;
      }
    }
    if (const text::Value* together = fit->find("together")) {
      ++seen["together"];
      Scenario changed = scenario;
      for (const text::Value& change : together->find("changes")->elements()) ASSERT_TRUE(make(change, changed));
      EXPECT_NE(place_of_p(changed), "") << "seed " << seed << ": " << text::to_json(*together) << '\n'
                                         << json_of(changed);
    }
  }
  if (tests::are_few_seeds()) return;
  for (const char* kind : {"resources", "toleration", "nodeSelector", "topologySpread", "hostPort", "podAntiAffinity",
                           "removePod", "newNode", "together"})
    EXPECT_NE(seen[kind], 0u) << kind << " was never named";
}

}  // namespace
}  // namespace berth::app
