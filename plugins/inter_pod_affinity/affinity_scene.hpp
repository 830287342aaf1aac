// SPDX-License-Identifier: Apache-2.0
/// What the tests of this folder share: a policy over a fake cluster, nodes by zone, terms about app=web.
#pragma once
#include <berth/testkit/cluster.hpp>

namespace berth::inter_pod_affinity::tests {

using namespace berth::testkit;

inline const char* const k_zone = "zone";
inline const char* const k_host = "host";
inline const std::string k_no_affinity = "UU node(s) didn't match pod affinity rules";
inline const std::string k_anti = "U node(s) didn't match pod anti-affinity rules";
inline const std::string k_existing_anti = "U node(s) didn't satisfy existing pods anti-affinity rules";
inline const Strings k_web = {{"app", "web"}};
inline const Strings k_db = {{"app", "db"}};
inline const SelectorSpec k_selects_web{{{"app", "In", {"web"}}}};

inline AffinityTermSpec near_web(std::string key = k_zone, std::int32_t weight = 0) {
  return {.topology_key = std::move(key), .selector = k_selects_web, .weight = weight};
}
/// A zone of "-" leaves the label out.
inline NodeSpec node(std::string name, std::string zone) {
  Strings labels = {{k_host, name}};
  if (zone != "-") labels[k_zone] = std::move(zone);
  return {.name = std::move(name), .labels = std::move(labels)};
}
inline const std::vector<NodeSpec> k_nodes = {node("n0", "a"), node("n1", "a"), node("n2", "b"), node("n3", "-")};

using Texts = std::vector<std::string>;

struct Scene {
  explicit Scene(std::string_view args = {}) : policy(tested_library(), args, FakeCluster::install) {}
  FakeCluster& cluster() { return FakeCluster::of(policy); }
  Attempt& attempt(const PodSpec& pod, std::vector<NodeSpec> nodes = k_nodes) {
    cluster().nodes = nodes;
    attempts.emplace_back(policy, pod, std::move(nodes));
    return attempts.back();
  }
  static Texts answers(Attempt& attempt) {
    Texts out;
    for (const Answer& answer : attempt.filter())
      out.push_back(answer.passes ? "" : (answer.unresolvable ? "UU " : "U ") + answer.reason);
    return out;
  }

  Policy policy;
  std::list<Attempt> attempts;
};

}  // namespace berth::inter_pod_affinity::tests
