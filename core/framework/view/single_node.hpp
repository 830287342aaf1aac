// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "base/guarded.hpp"
#include "berth/ext/nodes.h"
#include "framework/plugin_instance.hpp"

namespace berth::framework {

/// One node outside the snapshot as a block of one row: an empty node with the object's static facts, in the columns of
/// one instance. For events and for binding. Threads: one.
class SingleNode {
 public:
  SingleNode(const PluginInstance& plugin, const model::NodePtr& node) : plugin_(plugin) {
    Host& host = plugin.host();
    {
      const Lock lock(host.lists.foreign_mutex);
      cache::describe(row_, node, host.resources, host.lists);
      host.lists.foreign_rows.push_back(&row_);
    }
    data_.reserve(plugin.columns().size());
    pointers_.resize(plugin.columns().size());
    for (std::size_t i = 0; i < plugin.columns().size(); ++i) {
      if (plugin.columns()[i].kind != BoundColumn::Kind::plain) continue;
      const cache::ColumnSpec& spec = host.snapshot.spec(plugin.columns()[i].id);
      pointers_[i] = fill(spec);
    }
  }

  ~SingleNode() {
    cache::SharedLists& lists = plugin_.host().lists;
    const Lock lock(lists.foreign_mutex);
    std::erase(lists.foreign_rows, &row_);
  }
  SingleNode(const SingleNode&) = delete;
  SingleNode& operator=(const SingleNode&) = delete;

  /// Columns bound to a pod are NULL.
  const berth_node_block_v1* block() {
    abi_ = {sizeof(berth_node_block_v1),
            1,
            BERTH_NO_SLOT,
            static_cast<std::uint32_t>(pointers_.size()),
            &k_nowhere,
            &k_one,
            pointers_.data()};
    return &abi_;
  }

  const berth_node_block_v1* block_for(const model::Pod& pod) {
    if (plugin_.pod_bound()) {
      pod_columns_.clear();
      std::vector<const std::int64_t*> capacity;
      const auto& asked = pod.requests->resources;
      for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto r = i < cache::k_first_scalar ? static_cast<cache::ResourceIndex>(i)
                                                 : plugin_.host().resources.find(asked[i].name);
        pod_columns_.push_back(static_cast<const std::int64_t*>(fill({cache::ColumnKind::free, r})));
        capacity.push_back(static_cast<const std::int64_t*>(fill({cache::ColumnKind::capacity, r})));
      }
      const std::size_t count = capacity.size();
      pod_columns_.insert(pod_columns_.end(), capacity.begin(), capacity.end());
      for (std::size_t i = 0; i < plugin_.columns().size(); ++i) {
        if (plugin_.columns()[i].kind == BoundColumn::Kind::pod_free) pointers_[i] = pod_columns_.data();
        if (plugin_.columns()[i].kind == BoundColumn::Kind::pod_allocatable) pointers_[i] = pod_columns_.data() + count;
      }
    }
    return block();
  }

 private:
  static constexpr berth_slot k_nowhere = BERTH_NO_SLOT;
  static constexpr std::uint64_t k_one = 1;

  const void* fill(const cache::ColumnSpec& spec) {
    auto& column = data_.emplace_back(std::make_unique<cache::ColumnData>(spec.width()));
    column->reserve_rows(1);
    column->put(spec, row_, 0);
    return column->data();
  }

  const PluginInstance& plugin_;
  cache::NodeRow row_;
  std::vector<std::unique_ptr<cache::ColumnData>> data_;
  std::vector<const void*> pointers_;
  std::vector<const std::int64_t*> pod_columns_;
  berth_node_block_v1 abi_{};
};

}  // namespace berth::framework
