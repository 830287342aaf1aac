// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/cluster.hpp>
#include <berth/testkit/module.hpp>

#include <cmath>
#include <fstream>
#include <iterator>

#include "scores.hpp"
#include "topology.hpp"

namespace {
using namespace berth::testkit;
using namespace node_resource_topology_match;

constexpr const char* k_topologies = "topology.node.k8s.io/v1alpha2/noderesourcetopologies";

const berth::Json& table(const char* name) {
  static const berth::Json all = [] {
    std::ifstream in(ROWS_FILE);
    return berth::Json::parse(std::string{std::istreambuf_iterator<char>(in), {}});
  }();
  return all[name];
}

std::int64_t amount_of(const std::string& resource, const berth::Json& quantity) {
  return berth::Quantity::parse(quantity.string(resource)).value().amount_of(resource);
}

/// JSON again, of lists of objects with texts and whole numbers.
std::string written(const berth::Json& value) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ",") + part; };
  if (value.is_array()) {
    for (const berth::Json& each : value.items()) add(written(each));
    return "[" + text + "]";
  }
  if (value.is_object()) {
    for (const auto& [name, each] : value.members()) add("\"" + name + "\":" + written(each));
    return "{" + text + "}";
  }
  return value.is_string() ? "\"" + value.string("") + "\"" : std::string(value.number_text());
}

/// By requests and limits of cpu and memory, as Kubernetes has it.
std::uint32_t qos_of(const std::vector<ContainerSpec>& containers) {
  bool has_any = false, has_all = true;
  for (const ContainerSpec& each : containers)
    for (const std::string resource : {"cpu", "memory"}) {
      const auto request = each.requests.find(resource), limit = each.limits.find(resource);
      const bool has_request = request != each.requests.end(), has_limit = limit != each.limits.end();
      has_any = has_any || has_request || has_limit;
      has_all = has_all && has_request && has_limit && request->second == limit->second;
    }
  return !has_any ? BERTH_QOS_BEST_EFFORT : has_all ? BERTH_QOS_GUARANTEED : BERTH_QOS_BURSTABLE;
}

PodSpec pod_of(const berth::Json& row) {
  PodSpec pod;
  const auto add = [&](const berth::Json& list, std::uint32_t kind) {
    for (const berth::Json& each : list.items()) {
      ContainerSpec& container = pod.container_resources.emplace_back();
      container.kind = kind;
      for (const auto& [name, quantity] : each["requests"].members())
        container.requests[name] = amount_of(name, quantity);
      for (const auto& [name, quantity] : each["limits"].members()) container.limits[name] = amount_of(name, quantity);
    }
  };
  add(row["initContainers"], BERTH_CONTAINER_INIT);
  add(row["containers"], BERTH_CONTAINER_APP);
  pod.qos = qos_of(pod.container_resources);
  return pod;
}

/// Nodes with what their zones have.
struct Nodes {
  explicit Nodes(const std::string& args = {}) : policy(tested_library(), args, FakeCluster::install) {}
  void add(const berth::Json& topology, const std::string& policies, bool has_object = true) {
    NodeSpec node{.name = topology["name"].string("name")};
    for (const berth::Json& zone : topology["zones"].items())
      for (const berth::Json& resource : zone["resources"].items()) {
        const std::string& name = resource["name"].string("name");
        node.capacity[name] += amount_of(name, resource["available"]);
      }
    nodes.push_back(std::move(node));
    if (has_object)
      cluster.put(k_topologies, "", nodes.back().name,
                  {FieldText(policies), FieldText(attributes), FieldText(written(topology["zones"]))});
  }
  Answer filter(const PodSpec& pod) {
    Attempt attempt(policy, pod, cluster.nodes = nodes);
    return attempt.pre_filter().code == BERTH_SKIP ? passes() : attempt.filter().front();
  }
  std::map<std::string, std::int64_t> scores(const PodSpec& pod) {
    Attempt attempt(policy, pod, cluster.nodes = nodes);
    attempt.pre_filter();
    EXPECT_EQ(attempt.pre_score(), Outcome{});
    const auto list = attempt.score();
    std::map<std::string, std::int64_t> by_name;
    for (std::size_t i = 0; i < nodes.size(); ++i) by_name[nodes[i].name] = list[i];
    return by_name;
  }

  Policy policy;
  FakeCluster& cluster = FakeCluster::of(policy);
  std::vector<NodeSpec> nodes;
  std::string attributes;
};

TEST(NodeResourceTopologyMatch, FiltersAsTheRowsOfUpstreamSay) {
  int judged = 0;
  for (const berth::Json& row : table("filter").array("filter")) {
    SCOPED_TRACE(row["name"].string("name"));
    const berth::Json& node = table("nodes")[row["node"].string("node")];
    Nodes cluster;
    cluster.add(node["nrt"], written(node["nrt"]["topologyPolicies"]));
    for (const auto& [name, quantity] : node["allocatable"].members())
      cluster.nodes.back().capacity[name] = amount_of(name, quantity);
    const std::string& reason = row["reason"].string("reason");
    EXPECT_EQ(cluster.filter(pod_of(row["pod"])), reason.empty() ? passes() : unschedulable(reason));
    ++judged;
  }
  EXPECT_EQ(judged, 71);
}

TEST(NodeResourceTopologyMatch, ScoresAsTheRowsOfUpstreamSay) {
  int judged = 0;
  for (const berth::Json& row : table("score").array("score")) {
    SCOPED_TRACE(row["name"].string("name"));
    Nodes cluster(R"({"scoringStrategy": {"type": ")" + row["strategy"].string("strategy") + R"("}})");
    for (const berth::Json& each : table("clusters")[row["cluster"].string("cluster")].items()) {
      const bool is_known =
          !row.contains("known") ||
          std::any_of(row["known"].items().begin(), row["known"].items().end(),
                      [&](const berth::Json& name) { return name.string("known") == each["name"].string("name"); });
      const std::string policies = row["policy"].is_string() ? "[\"" + row["policy"].string("policy") + "\"]"
                                                             : written(each["topologyPolicies"]);
      cluster.add(each, policies, is_known);
    }
    const auto scores = cluster.scores(pod_of(row["pod"]));
    // All nodes, or the best one alone; without any the best scores 0.
    for (const auto& [name, score] : row["scores"].members())
      EXPECT_EQ(scores.at(name), score.integer("score")) << name;
    std::int64_t best = 0;
    for (const auto& [name, score] : scores) best = std::max(best, score);
    if (row.contains("best") && row["best"].members().empty()) {
      EXPECT_EQ(best, 0);
    }
    for (const auto& [name, score] : row["best"].members()) {
      EXPECT_EQ(scores.at(name), score.integer("score")) << name;
      EXPECT_EQ(best, score.integer("score"));
    }
    ++judged;
  }
  EXPECT_EQ(judged, 23);
}

/// Resources as numbers.
berth::Id id_of(const std::string& name) {
  static std::vector<std::string> names{""};
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) return static_cast<berth::Id>(at - names.begin());
  names.push_back(name);
  return static_cast<berth::Id>(names.size() - 1);
}

Zones zones_in(const berth::Json& list) {
  Zones zones;
  for (const berth::Json& each : list.items()) {
    Zone& zone = zones.emplace_back();
    zone.id = static_cast<int>(each["id"].integer("id"));
    for (const auto& [name, quantity] : each["resources"].members())
      zone.available.emplace_back(id_of(name), amount_of(name, quantity));
    for (const auto& [other, cost] : each["costs"].members())
      zone.costs.emplace_back(std::stoi(other), cost.integer("cost"));
  }
  return zones;
}

TEST(Numa, TakesAsManyZonesAsTheRowsOfUpstreamSay) {
  int judged = 0;
  for (const berth::Json& row : table("required").array("required")) {
    SCOPED_TRACE(row["name"].string("name"));
    const Zones zones = zones_in(row["zones"]);
    Request request;
    for (const auto& [name, quantity] : row["asked"].members())
      request.push_back(
          {id_of(name), amount_of(name, quantity), name == "cpu", name == "cpu" || name == "memory", false});
    const Required required = required_zones(zones, request, true);
    std::vector<std::int64_t> ids, expected;
    for (const std::size_t place : required.places) ids.push_back(zones[place].id);
    std::sort(ids.begin(), ids.end());
    for (const berth::Json& id : row["numa"].items()) expected.push_back(id.integer("id"));
    EXPECT_EQ(ids, expected);
    EXPECT_EQ(required.is_min_distance, row["isMinDistance"].boolean("isMinDistance"));
    ++judged;
  }
  EXPECT_EQ(judged, 10);
}

TEST(Numa, CountsPointsAsTheRowsOfUpstreamSay) {
  for (const berth::Json& row : table("points").array("points"))
    EXPECT_EQ(points_of(static_cast<std::size_t>(row["numaNodes"].integer("numaNodes")),
                        row["isMinDistance"].boolean("isMinDistance"), 8),
              row["score"].integer("score"))
        << row["name"].string("name");
  EXPECT_EQ(points_of(9, false, 8), 0) << "more zones than the kubelet knows";
}

TEST(Numa, MeasuresDistancesAsTheRowsOfUpstreamSay) {
  for (const berth::Json& row : table("distance").array("distance")) {
    const Zones zones = zones_in(table("distanceZones")[row["zones"].string("zones")]);
    float least = 255;
    for (const berth::Json& combination : row["combinations"].items()) {
      Combination places;
      for (const berth::Json& place : combination.items())
        places.push_back(static_cast<std::size_t>(place.integer("place")));
      least = std::min(least, mean_distance(zones, places));
    }
    EXPECT_NEAR(least, row["distance"].number("distance"), 1e-5) << row["name"].string("name");
  }
}

TEST(Numa, GoesThroughAllCombinationsInOrder) {
  std::vector<Combination> all;
  each_combination(4, 2, [&](const Combination& places) {
    all.push_back(places);
    return true;
  });
  EXPECT_EQ(all, (std::vector<Combination>{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}));
}

TEST(Topology, IsReadFromAttributesThatWinOverPolicies) {
  const auto manager = [](const char* policies, const char* attributes) {
    return manager_of(berth::Json::parse(policies), berth::Json::parse(attributes));
  };
  EXPECT_FALSE(manager("[]", "[]").is_single_numa_node);
  EXPECT_TRUE(manager(R"(["SingleNUMANodePodLevel"])", "[]").aligns_pods);
  EXPECT_TRUE(manager(R"(["SingleNUMANodeContainerLevel"])", "[]").is_single_numa_node);
  EXPECT_FALSE(manager(R"(["RestrictedPodLevel"])", "[]").is_single_numa_node);
  EXPECT_FALSE(manager(R"(["Unheard"])", "[]").is_single_numa_node);
  const Manager both =
      manager(R"(["SingleNUMANodePodLevel"])", R"([{"name": "topologyManagerPolicy", "value": "restricted"},
    {"name": "topologyManagerScope", "value": "container"}, {"name": "topologyManagerMaxNUMANodes", "value": "16"}])");
  EXPECT_FALSE(both.is_single_numa_node);
  EXPECT_FALSE(both.aligns_pods);
  EXPECT_EQ(both.max_numa_nodes, 16);
  for (const char* number : {"0", "1", "-3", "many"})
    EXPECT_EQ(
        manager("[]", (std::string(R"([{"name": "topologyManagerMaxNUMANodes", "value": ")") + number + "\"}]").c_str())
            .max_numa_nodes,
        8);
  EXPECT_EQ(manager("[]", R"([{"name": "topologyManagerMaxNUMANodes", "value": "65535"}])").max_numa_nodes, 1024);
}

TEST(NodeResourceTopologyMatch, FollowsTheObjectOfANode) {
  const berth::Json node =
      berth::Json::parse(R"({"name": "n", "zones": [{"name": "node-0", "type": "Node", "resources": [
    {"name": "cpu", "available": "4"}, {"name": "memory", "available": "4Gi"}]}]})");
  const berth::Json pod = berth::Json::parse(
      R"({"containers": [{"requests": {"cpu": "6", "memory": "1Gi"}, "limits": {"cpu": "6", "memory": "1Gi"}}]})");
  Nodes cluster;
  cluster.add(node, "", false);
  EXPECT_EQ(cluster.filter(pod_of(pod)), passes()) << "a node without an object";
  cluster.attributes = R"([{"name": "topologyManagerPolicy", "value": "single-numa-node"}])";
  cluster.nodes.clear();
  cluster.add(node, "");
  EXPECT_EQ(cluster.filter(pod_of(pod)), unschedulable("cannot align container"));
  cluster.cluster.remove(k_topologies, "", "n");
  EXPECT_EQ(cluster.filter(pod_of(pod)), passes());
}

TEST(NodeResourceTopologyMatch, NamesSidecars) {
  const berth::Json node =
      berth::Json::parse(R"({"name": "n", "zones": [{"name": "node-0", "type": "Node", "resources": [
    {"name": "cpu", "available": "4"}, {"name": "memory", "available": "4Gi"}]}]})");
  Nodes cluster;
  cluster.add(node, R"(["SingleNUMANodeContainerLevel"])");
  PodSpec pod = pod_of(berth::Json::parse(
      R"({"initContainers": [{"requests": {"cpu": "6", "memory": "1Gi"}, "limits": {"cpu": "6", "memory": "1Gi"}}]})"));
  pod.container_resources[0].kind = BERTH_CONTAINER_SIDECAR;
  EXPECT_EQ(cluster.filter(pod), unschedulable("cannot align sidecar container"));
}

TEST(NodeResourceTopologyMatch, GivesPodsThatGetNothingForThemselvesTheMost) {
  Nodes cluster;
  cluster.add(table("clusters")["default"].items()[0], R"(["SingleNUMANodeContainerLevel"])");
  EXPECT_EQ(cluster.scores({.container_resources = {{.requests = {{"cpu", 100}}}}, .qos = BERTH_QOS_BURSTABLE})
                .begin()
                ->second,
            100);
}

}  // namespace
