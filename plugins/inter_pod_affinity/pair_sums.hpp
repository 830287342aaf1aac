// SPDX-License-Identifier: Apache-2.0
/// Sums per (topology key, label value), as arrays over the domains of each key.
#pragma once
#include <berth/domains.hpp>
#include <berth/plugin.hpp>

#include <algorithm>
#include <vector>

namespace berth::inter_pod_affinity {

/// Finds the table of a key. [cycle]
class Topology {
 public:
  Topology(const Cycle& cycle, Labels labels, DomainCache& cache) : cycle_(cycle), labels_(labels), cache_(cache) {}
  DomainCache::Table table(Id key) const { return cache_.get(cycle_, key, labels_.column(cycle_, key)); }

 private:
  const Cycle& cycle_;
  Labels labels_;
  DomainCache& cache_;
};

class PairSums {
 public:
  struct PerKey {
    Id key;
    DomainCache::Table domains;
    std::vector<std::int64_t> sums;  // by domain; [0] stays 0
  };

  /// The sums of a key, made when they are new.
  PerKey& of(Id key, const Topology& topology) {
    for (PerKey& each : keys_)
      if (each.key == key) return each;
    DomainCache::Table table = topology.table(key);
    std::vector<std::int64_t> sums(table->size(), 0);
    return keys_.emplace_back(PerKey{key, std::move(table), std::move(sums)});
  }
  const PerKey* find(Id key) const noexcept {
    for (const PerKey& each : keys_)
      if (each.key == key) return &each;
    return nullptr;
  }
  /// weight per pod for every node that carries the key.
  void add(Id key, const berth_shape_v1& shape, std::int64_t weight, const Topology& topology) {
    PerKey& each = of(key, topology);
    for (const berth_shape_node_v1& node : span_of(shape.nodes, shape.node_count)) {
      const std::uint32_t domain = each.domains->at(node.slot);
      if (domain == 0) continue;
      each.sums[domain] += weight * node.count;
      touched_ = true;
    }
  }
  /// Something was added, be it sums that cancel out.
  bool touched() const noexcept { return touched_; }
  const std::vector<PerKey>& keys() const noexcept { return keys_; }
  /// Pairs whose sum is not 0.
  std::int64_t pair_count() const noexcept {
    std::int64_t count = 0;
    for (const PerKey& each : keys_)
      count += static_cast<std::int64_t>(each.sums.size()) - std::count(each.sums.begin(), each.sums.end(), 0);
    return count;
  }

 private:
  std::vector<PerKey> keys_;  // few: one per topology key in use
  bool touched_ = false;
};

/// Visits the shapes that one of the reaches includes, each once.
template <class Reaches, class Visit>
void each_within(const PodIndex& index, const Cycle& cycle, const Reaches& reaches, Visit&& visit) {
  std::vector<Id> namespaces;
  for (const auto& reach : reaches) {
    if (reach.everywhere) return index.each(cycle, BERTH_SHAPES_ALL, 0, visit);
    namespaces.insert(namespaces.end(), reach.namespaces.begin(), reach.namespaces.end());
  }
  std::sort(namespaces.begin(), namespaces.end());
  namespaces.erase(std::unique(namespaces.begin(), namespaces.end()), namespaces.end());
  for (const Id ns : namespaces)
    if (ns != 0) index.each(cycle, BERTH_SHAPES_ALL, ns, visit);
}

}  // namespace berth::inter_pod_affinity
