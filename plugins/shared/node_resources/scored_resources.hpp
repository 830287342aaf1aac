// SPDX-License-Identifier: Apache-2.0
/// The configured resources of a resource-scoring plugin, bound to columns once and to a pod per call.
///
/// What a node has used of cpu and memory differs between the plugins: Fit counts containers that name none with 100m
/// and 200Mi, BalancedAllocation does not. What the pod adds differs in the same way, so both are template arguments.
#pragma once
#include <berth/setup.hpp>
#include "args.hpp"
#include "exact.hpp"
#include "resource_names.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace berth::node_resources {

/// Which sums a plugin works with.
enum class Charge : std::uint8_t { with_defaults, as_requested };

template <Charge k_charge>
class ScoredResources {
 public:
  ScoredResources(Setup& setup, const std::vector<WeightedResource>& configured) {
    const auto intern = setup.service<Intern>();
    for (std::size_t place = 0; place < configured.size(); ++place) {
      const WeightedResource& each = configured[place];
      const bool compute = each.name == k_cpu || each.name == k_memory;
      const bool scalar = is_scalar(each.name);
      // A name of no class ("pods", "gpu") has no capacity on any node.
      if (!compute && !scalar && each.name != k_ephemeral_storage) continue;
      const bool defaults = compute && k_charge == Charge::with_defaults;
      resources_.push_back({intern(each.name), setup.allocatable(each.name),
                            defaults ? setup.nonzero(each.name) : setup.requested(each.name), each.weight, scalar,
                            place});
    }
  }

  /// What the pod adds of resource i.
  std::int64_t request(Pod pod, std::size_t i) const noexcept {
    for (const berth_resource_v1& each : pod.resources())
      if (each.name == resources_[i].name) return k_charge == Charge::with_defaults ? each.scoring : each.effective;
    return 0;
  }
  bool asks_for_any(Pod pod) const noexcept {
    for (std::size_t i = 0; i < resources_.size(); ++i)
      if (request(pod, i) != 0) return true;
    return false;
  }

  /// Calls use(span of Entry) with the resources that count for this pod, in configured order. Scalars that the pod
  /// does not ask for do not count. No allocation for up to 16 resources.
  template <class Use>
  void bind(Pod pod, const Block& block, Use&& use) const {
    bind(
        pod, block, [](std::size_t) { return false; }, [](std::size_t, std::uint32_t, std::int64_t&, std::int64_t&) {},
        std::forward<Use>(use));
  }

  /// The same, with something that stands in for resources where a node has none: `has_substitute(place)`, of the resource as
  /// configured, then `substitute(place, row, capacity, used)` for the candidates without capacity.
  template <class Has, class Substitute, class Use>
  void bind(Pod pod, const Block& block, Has&& has_substitute, Substitute&& substitute, Use&& use) const {
    std::array<Entry, 16> small;
    std::vector<Entry> large(resources_.size() > small.size() ? resources_.size() : 0);
    Entry* entries = large.empty() ? small.data() : large.data();
    std::size_t count = 0;
    std::vector<std::vector<std::int64_t>> substituted;
    for (std::size_t i = 0; i < resources_.size(); ++i) {
      const Resource& each = resources_[i];
      const std::int64_t wanted = request(pod, i);
      if (wanted == 0 && each.scalar) continue;
      Entry& entry = entries[count++];
      entry = Entry{block[each.capacity], block[each.used], wanted, each.weight};
      if (!has_substitute(each.place)) continue;
      const std::size_t rows = std::size_t{64} * block.words();
      std::vector<std::int64_t>& own = substituted.emplace_back(2 * rows);
      std::copy_n(entry.capacity, rows, own.data());
      std::copy_n(entry.used, rows, own.data() + rows);
      block.each_candidate([&](std::uint32_t row) {
        if (own[row] == 0) substitute(each.place, row, own[row], own[rows + row]);
      });
      entry.capacity = own.data();
      entry.used = own.data() + rows;
    }
    use(std::span<const Entry>(entries, count));
  }

 private:
  struct Resource {
    Id name;
    IntColumn capacity;
    IntColumn used;
    std::int64_t weight;
    bool scalar;
    std::size_t place;  // as configured
  };
  std::vector<Resource> resources_;
};

}  // namespace berth::node_resources
