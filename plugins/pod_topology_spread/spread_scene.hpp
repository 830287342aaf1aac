// SPDX-License-Identifier: Apache-2.0
/// What the tests of this folder share: a policy over a fake cluster, and nodes by zone.
#pragma once
#include <berth/testkit/cluster.hpp>

namespace berth::pod_topology_spread::tests {

using namespace berth::testkit;

inline const char* const k_zone = "topology.kubernetes.io/zone";
inline const char* const k_host = "kubernetes.io/hostname";
inline const std::string k_no_label = "node(s) didn't match pod topology spread constraints (missing required label)";
inline const std::string k_skewed = "node(s) didn't match pod topology spread constraints";
inline const Strings k_web = {{"app", "web"}};
inline const SelectorSpec k_selects_web{{{"app", "In", {"web"}}}};

/// A zone of "-" leaves the label out.
inline NodeSpec node(std::string name, std::string zone, Strings more = {}) {
  more[k_host] = name;
  if (zone != "-") more[k_zone] = std::move(zone);
  return {.name = std::move(name), .labels = std::move(more)};
}

struct Scene {
  explicit Scene(std::string_view args = {}) : policy(tested_library(), args, FakeCluster::install) {}
  FakeCluster& cluster() { return FakeCluster::of(policy); }
  Attempt& attempt(const PodSpec& pod, std::vector<NodeSpec> nodes) {
    cluster().nodes = nodes;
    attempts.emplace_back(policy, pod, std::move(nodes));
    return attempts.back();
  }

  Policy policy;
  std::list<Attempt> attempts;
};

}  // namespace berth::pod_topology_spread::tests
