// SPDX-License-Identifier: Apache-2.0
#include "framework/points/requeue.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/bitmap.hpp"
#include "framework/plugin_call.hpp"

namespace berth::framework {
namespace {

/// One node as a block of one row: an empty node with the object's static facts. Columns in the instance's order.
class NodeEventRow {
 public:
  NodeEventRow(const PluginInstance& plugin, const model::NodePtr& node) : plugin_(plugin) {
    Host& host = plugin.host();
    cache::describe(row_, node, host.resources, host.lists);
    data_.reserve(plugin.columns().size());
    pointers_.resize(plugin.columns().size());
    for (std::size_t i = 0; i < plugin.columns().size(); ++i) {
      if (plugin.columns()[i].kind != BoundColumn::Kind::plain) continue;
      const cache::ColumnSpec& spec = host.snapshot.spec(plugin.columns()[i].id);
      pointers_[i] = fill(spec);
    }
  }

  const berth_node_block_v1* block_for(const model::Pod& pod) {
    if (plugin_.pod_bound()) {
      pod_columns_.clear();
      std::vector<const std::int64_t*> capacity;
      for (std::size_t i = 0; i < pod.requests.resources.size(); ++i) {
        const auto r = i < cache::k_first_scalar ? static_cast<cache::ResourceIndex>(i)
                                                 : plugin_.host().resources.index_of(pod.requests.resources[i].name);
        pod_columns_.push_back(static_cast<const std::int64_t*>(fill({cache::ColumnKind::free, r})));
        capacity.push_back(static_cast<const std::int64_t*>(fill({cache::ColumnKind::capacity, r})));
      }
      const std::size_t count = capacity.size();
      pod_columns_.insert(pod_columns_.end(), capacity.begin(), capacity.end());
      for (std::size_t i = 0; i < plugin_.columns().size(); ++i) {
        if (plugin_.columns()[i].kind == BoundColumn::Kind::pod_free) pointers_[i] = pod_columns_.data();
        if (plugin_.columns()[i].kind == BoundColumn::Kind::pod_capacity) pointers_[i] = pod_columns_.data() + count;
      }
    }
    abi_ = {sizeof(berth_node_block_v1), 1, BERTH_NO_SLOT, static_cast<std::uint32_t>(pointers_.size()),
            &k_nowhere,                  &k_one, pointers_.data()};
    return &abi_;
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

/// An object as the watch of the interest sees it.
struct ObjectEvent {
  ProjectionPtr projection;
  std::vector<berth_value_v1> values;
  berth_object_v1 abi{};

  const berth_object_v1* show(const PluginInstance& plugin, std::uint32_t resource, const model::ObjectPtr& object) {
    if (!object || resource < BERTH_KIND_WATCH) return nullptr;
    projection = plugin.host().objects.project(resource - BERTH_KIND_WATCH, *object);
    if (!projection) return nullptr;
    for (const FieldValue& v : projection->values) values.push_back({0, v.present ? 1u : 0u, v.number, to_abi(v.text)});
    abi = {sizeof(berth_object_v1), static_cast<std::uint32_t>(values.size()), to_abi(projection->ns),
           to_abi(projection->name), to_abi(projection->uid), projection->version, values.data()};
    return &abi;
  }
};

void queue_all(std::size_t count, std::uint64_t* queue) {
  for (std::size_t i = 0; i < count; ++i) bitmap::set(queue, i);
}

}  // namespace

void HintCalls::ask(const PluginInstance& plugin, std::uint32_t interest, const model::ClusterEvent& event,
                    const model::EventObjects& objects, std::span<const model::Pod* const> pods,
                    std::uint64_t* queue) {
  const std::lock_guard lock(mutex_);
  arena_.reset();
  const auto show_pod = [&](const model::PodPtr& pod) -> const berth_pod_v1* {
    if (!pod) return nullptr;
    PodView view;
    view.reset(*pod, arena_);
    return view.view(plugin.hint_fields());
  };
  std::optional<NodeEventRow> old_node, new_node;
  if (objects.old_node) old_node.emplace(plugin, objects.old_node);
  if (objects.new_node) new_node.emplace(plugin, objects.new_node);
  ObjectEvent old_object, new_object;
  const std::uint32_t resource = plugin.requeue->interests[interest].resource;
  berth_event_v1 abi{sizeof(berth_event_v1),
                     interest,
                     static_cast<std::uint32_t>(event.resource),
                     event.actions,
                     nullptr,
                     nullptr,
                     show_pod(objects.old_pod),
                     show_pod(objects.new_pod),
                     old_object.show(plugin, resource, objects.old_object),
                     new_object.show(plugin, resource, objects.new_object)};
  Note note;
  // One pod per call: columns bound to the pod differ from pod to pod.
  for (std::size_t i = 0; i < pods.size(); ++i) {
    PodView view;
    view.reset(*pods[i], arena_);
    const berth_pod_v1* const pod = view.view(plugin.hint_fields());
    if (old_node) abi.old_node = old_node->block_for(*pods[i]);
    if (new_node) abi.new_node = new_node->block_for(*pods[i]);
    std::uint64_t answer = 0;
    const Code code = call_plugin(plugin, observe::Point::hint, note,
                                  [&] { return plugin.requeue->hint(plugin.self(), &abi, &pod, 1, &answer, note.abi()); });
    if (code != Code::success) return queue_all(pods.size(), queue);
    if ((answer & 1) != 0) bitmap::set(queue, i);
  }
}

}  // namespace berth::framework
