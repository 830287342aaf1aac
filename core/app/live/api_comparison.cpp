// SPDX-License-Identifier: Apache-2.0
#include "app/live/api_comparison.hpp"

#include <spdlog/fmt/fmt.h>

#include <set>
#include <string_view>
#include <utility>

#include "cluster/kube/read/list_question.hpp"

namespace berth::app {
namespace {

constexpr std::size_t k_lines_max = 100;  // of all differences

using Take = std::function<void(const text::Value& object)>;

/// Lines, of which only the first are kept.
class Differences {
 public:
  void add(std::string line) {
    if (++count_ <= k_lines_max) lines_.push_back(std::move(line));
  }
  std::vector<std::string> take(std::string agreement) {
    if (count_ == 0) return {std::move(agreement)};
    if (count_ > k_lines_max) lines_.push_back(fmt::format("comparer: and {} more", count_ - k_lines_max));
    return std::move(lines_);
  }

 private:
  std::size_t count_ = 0;
  std::vector<std::string> lines_;
};

std::string place_of(const LiveViews& live, const std::optional<cache::CachedPod>& cached) {
  return cached ? "on " + std::string(live.symbols.text(cached->node)) : std::string("nowhere");
}

}  // namespace

std::vector<std::string> compare_with_server(const LiveViews& live, net::HttpClient& client,
                                             const std::function<bool()>& goes_on) {
  const cache::ClusterCache& cache = live.cache;
  Differences differences;
  std::size_t nodes = 0;
  const auto find_node = [&](const text::Value& node) {
    ++nodes;
    const std::string name(node.text_at("metadata.name"));
    const Symbol symbol = live.symbols.find(name);
    if (symbol == k_no_symbol || cache.find_node(symbol) == nullptr)
      differences.add(fmt::format("comparer: node {} is at the API server, and not in the cache", name));
  };
  std::set<std::string> bound;
  const auto find_pod = [&](const text::Value& pod) {
    const std::string uid(pod.text_at("metadata.uid")), node(pod.text_at("spec.nodeName"));
    if (node.empty()) return;
    bound.insert(uid);
    const std::optional<cache::CachedPod> cached = cache.find_pod(uid);
    if (!cached || live.symbols.text(cached->node) != node)
      differences.add(fmt::format("comparer: pod {}/{} is on {} at the API server, and in the cache {}",
                                  pod.text_at("metadata.namespace"), pod.text_at("metadata.name"), node,
                                  place_of(live, cached)));
  };
  cluster::kube::ListQuestion all_nodes{{"core/v1/nodes", {}}};
  cluster::kube::ListQuestion bound_pods{
      {"core/v1/pods", "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!="}};
  all_nodes.goes_on = bound_pods.goes_on = goes_on;
  for (const auto& [question, take] : {std::pair<const cluster::kube::ListQuestion&, Take>{all_nodes, find_node},
                                       std::pair<const cluster::kube::ListQuestion&, Take>{bound_pods, find_pod}}) {
    const Result<std::size_t> unreadable = cluster::kube::ask_for_list(client, question, take);
    if (!unreadable.ok()) return {"comparer: the API server does not say what it has: " + unreadable.error().message};
    if (*unreadable != 0)
      differences.add(fmt::format("comparer: {} objects of {} at the API server cannot be read", *unreadable,
                                  question.target.resource));
  }
  for (const model::PodPtr& pod : live.reader.pods()) {
    const std::optional<cache::CachedPod> cached = cache.find_pod(pod->uid);
    if (pod->node_name != k_no_symbol && cached && !bound.contains(pod->uid.text()))
      differences.add(
          fmt::format("comparer: pod {}/{} is {} in the cache, and at the API server it is not bound or gone", pod->ns,
                      pod->name, place_of(live, cached)));
  }
  if (const std::size_t cached = cache.counts().nodes; cached > nodes)
    differences.add(fmt::format("comparer: {} nodes are in the cache, and {} at the API server", cached, nodes));
  return differences.take(fmt::format("comparer: the cache and the API server agree about {} nodes and {} bound pods",
                                      nodes, bound.size()));
}

}  // namespace berth::app
