// SPDX-License-Identifier: Apache-2.0
#include "app/live/api_comparison.hpp"

#include <spdlog/fmt/fmt.h>

#include <functional>
#include <set>
#include <string_view>

#include "cluster/kube/read/api_question.hpp"
#include "net/url.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

constexpr std::chrono::seconds k_page_limit{10};
constexpr std::size_t k_pages_max = 10'000;  // of 500 objects
constexpr std::size_t k_lines_max = 100;     // of each kind of difference

std::string text_at(const text::Value& value, std::string_view path) {
  const text::Value* const found = value.find_path(path);
  return found != nullptr && found->is_string() ? std::string(found->text()) : std::string();
}

/// Calls `take` with each item of a list that comes in pages.
Status each_item(net::HttpClient& client, const std::string& target,
                 const std::function<void(const text::Value& item)>& take) {
  std::string next;
  for (std::size_t page = 0; page < k_pages_max; ++page) {
    net::Request request;
    request.target = target + (next.empty() ? "" : "&continue=" + net::percent_encode(next));
    const Result<std::string> body = cluster::kube::ask_server(client, std::move(request), k_page_limit);
    if (!body.ok()) return body.error();
    text::Diagnostics diagnostics;
    const auto documents = text::parse_json(*body, "list", diagnostics);
    if (documents.empty()) return Error{"the list is not JSON: " + diagnostics.render()};
    const text::Value& root = documents.front().root();
    if (const text::Value* const items = root.find("items"); items != nullptr && items->is_sequence())
      for (const text::Value& item : items->elements()) take(item);
    next = text_at(root, "metadata.continue");
    if (next.empty()) return Unit{};
  }
  return Error{"the list does not end"};
}

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

std::string place_of(const LiveHost& host, const std::optional<cache::CachedPod>& cached) {
  return cached ? "on " + std::string(host.symbols().text(cached->node)) : std::string("nowhere");
}

}  // namespace

std::vector<std::string> compare_with_server(const LiveHost& host, net::HttpClient& client) {
  const cache::ClusterCache& cache = host.scheduler().cache();
  Differences differences;
  std::size_t nodes = 0;
  const auto find_node = [&](const text::Value& node) {
    ++nodes;
    const std::string name = text_at(node, "metadata.name");
    const Symbol symbol = host.symbols().find(name);
    if (symbol == k_no_symbol || cache.find_node(symbol) == nullptr)
      differences.add(fmt::format("comparer: node {} is at the API server, and not in the cache", name));
  };
  std::set<std::string> bound;
  const auto find_pod = [&](const text::Value& pod) {
    const std::string uid = text_at(pod, "metadata.uid"), node = text_at(pod, "spec.nodeName");
    if (node.empty()) return;
    bound.insert(uid);
    const std::optional<cache::CachedPod> cached = cache.find_pod(uid);
    if (!cached || host.symbols().text(cached->node) != node)
      differences.add(fmt::format("comparer: pod {}/{} is on {} at the API server, and in the cache {}",
                                  text_at(pod, "metadata.namespace"), text_at(pod, "metadata.name"), node,
                                  place_of(host, cached)));
  };
  Status asked = each_item(client, "/api/v1/nodes?limit=500", find_node);
  if (asked.ok())
    asked = each_item(client,
                      "/api/v1/pods?limit=500&fieldSelector=" +
                          net::percent_encode("status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!="),
                      find_pod);
  if (!asked.ok()) return {"comparer: the API server does not say what it has: " + asked.error().message};
  for (const model::PodPtr& pod : host.reader().pods()) {
    const std::optional<cache::CachedPod> cached = cache.find_pod(pod->uid);
    if (pod->node_name != k_no_symbol && cached && !bound.contains(pod->uid.text()))
      differences.add(
          fmt::format("comparer: pod {}/{} is {} in the cache, and at the API server it is not bound or gone", pod->ns,
                      pod->name, place_of(host, cached)));
  }
  if (const std::size_t cached = cache.counts().nodes; cached > nodes)
    differences.add(fmt::format("comparer: {} nodes are in the cache, and {} at the API server", cached, nodes));
  return differences.take(fmt::format("comparer: the cache and the API server agree about {} nodes and {} bound pods",
                                      nodes, bound.size()));
}

}  // namespace berth::app
