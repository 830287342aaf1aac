// SPDX-License-Identifier: Apache-2.0
/// Sums per (topology key, label value), as arrays over the domains of each key.
#pragma once
#include <berth/domains.hpp>
#include <berth/kept_counts.hpp>
#include <berth/plugin.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace berth::inter_pod_affinity {

/// Finds the table of a key. [cycle]
class Topology {
 public:
  Topology(const Cycle& cycle, Labels labels, DomainCache& cache, std::uint64_t facts = 0)
      : cycle_(cycle), labels_(labels), cache_(cache), facts_(facts) {}
  DomainCache::Table table(Id key) const { return cache_.get(cycle_, key, labels_.column(cycle_, key), facts_); }

 private:
  const Cycle& cycle_;
  Labels labels_;
  DomainCache& cache_;
  std::uint64_t facts_;
};

class PairSums {
 public:
  struct PerKey {
    Id key;
    DomainCache::Table domains;
    DomainValues sums;      // by domain; [0] stays 0
    std::int64_t pods = 0;  // that were added, be it with sums that cancel out
  };

  /// Number of the key among keys(), which is made when it is new.
  std::uint32_t of(Id key, const Topology& topology) {
    if (const std::optional<std::uint32_t> known = number_of(key)) return *known;
    DomainCache::Table table = topology.table(key);
    keys_.push_back(PerKey{key, table, DomainValues(table)});
    return static_cast<std::uint32_t>(keys_.size() - 1);
  }
  std::optional<std::uint32_t> number_of(Id key) const noexcept {
    for (std::uint32_t i = 0; i < keys_.size(); ++i)
      if (keys_[i].key == key) return i;
    return std::nullopt;
  }
  const PerKey* find(Id key) const noexcept {
    const std::optional<std::uint32_t> known = number_of(key);
    return known ? &keys_[*known] : nullptr;
  }
  /// weight for each of so many pods on a node; a node without the key has no pair. pods may be negative.
  void add(std::uint32_t number, Slot slot, std::int64_t pods, std::int64_t weight) {
    PerKey& each = keys_[number];
    const std::uint32_t domain = each.domains->at(slot);
    if (domain == 0) return;
    each.sums.add(domain, weight * pods);
    each.pods += pods;
  }
  /// weight for each pod of a shape.
  void add(Id key, const berth_shape_v1& shape, std::int64_t weight, const Topology& topology) {
    const std::uint32_t number = of(key, topology);
    for (const berth_shape_node_v1& node : span_of(shape.nodes, shape.node_count))
      add(number, node.slot, std::int64_t{node.count}, weight);
  }
  /// Some pod was added.
  bool touched() const noexcept {
    return std::any_of(keys_.begin(), keys_.end(), [](const PerKey& each) { return each.pods != 0; });
  }
  const std::vector<PerKey>& keys() const noexcept { return keys_; }
  /// Pairs whose sum is not 0.
  std::int64_t pair_count() const noexcept {
    std::int64_t count = 0;
    for (const PerKey& each : keys_) count += each.sums.pairs();
    return count;
  }

  /// Changes from here on are remembered for the host.
  void begin_log() noexcept {
    for (PerKey& each : keys_) each.sums.begin_log();
  }
  /// Whether nodes are in the domains that they were in.
  bool holds(const Topology& topology) const {
    return std::all_of(keys_.begin(), keys_.end(),
                       [&](const PerKey& each) { return topology.table(each.key) == each.domains; });
  }
  void name_columns(const DomainColumnList& out) const {
    for (const PerKey& each : keys_) out.add(each.sums);
  }
  std::size_t bytes() const noexcept {
    std::size_t bytes = keys_.capacity() * sizeof(PerKey);
    for (const PerKey& each : keys_) bytes += each.sums.bytes();
    return bytes;
  }

 private:
  std::vector<PerKey> keys_;  // few: one per topology key in use
};

}  // namespace berth::inter_pod_affinity
