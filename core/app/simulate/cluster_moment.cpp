// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/cluster_moment.hpp"

#include <memory>
#include <unordered_set>
#include <utility>

namespace berth::app {

std::vector<decode::Decoded> cluster_moment(const cache::ClusterCache& cache, const cluster::kube::KubeReader& reader,
                                            SymbolTable& symbols, std::string_view ns) {
  std::vector<model::NodePtr> nodes;
  std::vector<cache::CachedPod> placed;
  cache.visit([&](std::vector<model::NodePtr> all_nodes, std::vector<cache::CachedPod> all_pods) {
    nodes = std::move(all_nodes);
    placed = std::move(all_pods);
    // Held by the caller's collection from here on: the node may go, with its name.
    for (const cache::CachedPod& pod : placed)
      if (pod.pod->node_name != pod.node) symbols.intern(symbols.text(pod.node));
  });
  std::vector<model::ObjectPtr> objects = reader.objects();
  std::vector<model::PodPtr> waiting = reader.pods();
  std::erase_if(waiting,
                [&](const model::PodPtr& pod) { return pod->node_name != k_no_symbol || pod->ns.get() != ns; });

  std::vector<decode::Decoded> out;
  out.reserve(nodes.size() + objects.size() + placed.size() + waiting.size());
  for (model::NodePtr& node : nodes) out.emplace_back(std::move(node));
  for (model::ObjectPtr& object : objects) out.emplace_back(std::move(object));
  std::unordered_set<model::Uid> counted;
  for (cache::CachedPod& cached : placed) {
    if (cached.pod->node_name != cached.node) {  // assumed: the cluster does not say so yet
      auto there = std::make_shared<model::Pod>(*cached.pod);
      there->node_name = cached.node;
      cached.pod = std::move(there);
    }
    if (cached.pod->ns.get() == ns) counted.insert(cached.pod->uid);
    out.emplace_back(std::move(cached.pod));
  }
  for (model::PodPtr& pod : waiting)
    if (!counted.contains(pod->uid)) out.emplace_back(std::move(pod));
  return out;
}

}  // namespace berth::app
