// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace berth::app {

/// A cluster as manifests (YAML documents), made to be awkward for a policy.
struct AwkwardCluster {
  std::string name;  // for messages: "no nodes"
  std::string manifests;
};

/// Every kind of awkwardness that an API server lets through: no nodes, a node that says nothing, more nodes than a block
/// has, the largest numbers and the longest names, pods that ask for nothing, for everything and for too much, a cluster
/// that is full of pods of lower priority. The same in each call. Feature gates are those of the release.
std::vector<AwkwardCluster> awkward_clusters();

/// So many nodes of several kinds: zones, taints, full, empty and unschedulable ones, with a few pods on them.
/// `reversed`: the same nodes, put in the opposite order.
std::string mixed_nodes(std::size_t count, bool reversed = false);
/// So many nodes, of which 64 after another are of several kinds: a list in JSON, which is quick to read.
std::string many_nodes(std::size_t count);
/// So many waiting pods, of several kinds in turn, named PREFIX-0 and so on.
std::string mixed_pods(std::size_t count, const std::string& prefix = "waiting");

}  // namespace berth::app
