// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cache/cluster_cache.hpp"

namespace berth::cache::testing {

inline constexpr std::int64_t k_gib = std::int64_t{1} << 30;

/// A cache with its snapshot, and short ways to say what is in the cluster.
struct CacheFixture {
  std::shared_ptr<model::Node> make_node(const std::string& name, const std::string& zone = "") {
    auto node = std::make_shared<model::Node>();
    node->name = name;
    node->name_symbol = symbols.intern(name);
    node->allowed_pods = 110;
    node->allocatable = {{symbols.intern("cpu"), 4000}, {symbols.intern("memory"), 8 * k_gib}};
    node->has_labels = !zone.empty();
    if (!zone.empty()) node->labels = {{symbols.intern("topology.kubernetes.io/zone"), symbols.intern(zone)}};
    return node;
  }
  std::shared_ptr<model::Pod> make_pod(const std::string& name, const std::string& node = "",
                                       std::int64_t cpu_milli = 0) {
    auto pod = std::make_shared<model::Pod>();
    pod->ns = "default";
    pod->ns_symbol = symbols.intern(pod->ns);
    pod->name = name;
    pod->uid = "uid-" + name;
    pod->node_name = node.empty() ? 0 : symbols.intern(node);
    pod->requests.edit().resources = {{symbols.intern("cpu"), false, false, cpu_milli, cpu_milli, cpu_milli},
                                      {symbols.intern("memory")},
                                      {symbols.intern("ephemeral-storage")}};
    pod->requests.edit().nonzero_cpu_milli = cpu_milli == 0 ? 100 : cpu_milli;
    return pod;
  }
  void add_node(const std::string& name, const std::string& zone = "") { cache.add_node(make_node(name, zone)); }
  void remove_node(const std::string& name) {
    const Status status = cache.remove_node(*make_node(name));
    EXPECT_TRUE(status.ok()) << name;
  }
  void add_pod(model::PodPtr pod) {
    const Status status = cache.add_pod(std::move(pod));
    EXPECT_TRUE(status.ok());
  }
  void remove_pod(const std::string& name) {
    const Status status = cache.remove_pod(*make_pod(name));
    EXPECT_TRUE(status.ok()) << name;
  }
  Assumption assume(model::PodPtr pod, const std::string& node, Assume how = Assume::decided) {
    Result<Assumption> result = cache.assume(std::move(pod), symbols.intern(node), how);
    EXPECT_TRUE(result.ok());
    return std::move(result).value();
  }

  void refresh() { cache.refresh(snapshot); }
  Slot slot(const std::string& node) { return snapshot.find(symbols.intern(node)); }
  const NodeRow& row(const std::string& node) { return snapshot.row(slot(node)); }
  std::int64_t cpu_milli_of(const std::string& node) {
    refresh();
    return row(node).requested_of(k_cpu);
  }
  /// Node names in the order in which they are visited.
  std::string order() {
    std::string text;
    for (const Slot s : snapshot.order()) text += (text.empty() ? "" : " ") + snapshot.row(s).node->name;
    return text;
  }
  std::vector<std::string> pods_on(const std::string& node) {
    std::vector<std::string> names;
    for (const PodHandle handle : row(node).pods) names.push_back(cache.pod(handle)->name);
    return names;
  }
  /// A node with one image, which has two names.
  std::shared_ptr<model::Node> with_image(const std::string& node, std::int64_t size_bytes) {
    auto made = make_node(node);
    made->images = {{{symbols.intern("app:1"), symbols.intern("app@sha256:1")}, size_bytes}};
    return made;
  }
  /// What the snapshot shows of one image on a node; count 0: not there.
  ImageState image_on(const std::string& node, const std::string& image) {
    for (const ImageState& state : cache.lists().images.members(row(node).image_set))
      if (state.name == symbols.intern(image)) return state;
    return {};
  }
  std::int64_t wide(ColumnId id, const std::string& node) {
    return static_cast<const std::int64_t*>(snapshot.column(id).data())[slot(node)];
  }
  std::uint32_t narrow(ColumnId id, const std::string& node) {
    return static_cast<const std::uint32_t*>(snapshot.column(id).data())[slot(node)];
  }

  SymbolTable symbols;
  ClusterCache cache{symbols};
  Snapshot snapshot;
};

}  // namespace berth::cache::testing
