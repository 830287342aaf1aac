// SPDX-License-Identifier: Apache-2.0
#include "framework/points/requeue.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/bitmap.hpp"
#include "framework/points/filter_call.hpp"
#include "framework/view/single_node.hpp"

namespace berth::framework {
namespace {

/// An object as the watch of the interest sees it; for an interest in a kind, as the instance's first watch of it does.
struct ObjectEvent {
  ProjectionPtr projection;
  std::vector<berth_value_v1> values;
  berth_object_v1 abi{};

  const berth_object_v1* show(const PluginInstance& plugin, std::uint32_t resource, const model::ObjectPtr& object) {
    if (!object) return nullptr;
    const ObjectStore& store = plugin.host().objects;
    if (resource >= BERTH_KIND_WATCH) {
      projection = store.project(resource - BERTH_KIND_WATCH, *object);
    } else {
      for (const ObjectStore::WatchId watch : plugin.watches())
        if (store.resource_of(watch) == object->resource) {
          projection = store.project(watch, *object);
          break;
        }
    }
    if (!projection) return nullptr;
    for (const FieldValue& v : projection->values) values.push_back({0, v.present ? 1u : 0u, v.number, to_abi(v.text)});
    abi = {sizeof(berth_object_v1),
           static_cast<std::uint32_t>(values.size()),
           to_abi(projection->ns),
           to_abi(projection->name),
           to_abi(projection->uid),
           projection->version,
           values.data()};
    return &abi;
  }
};

void queue_all(std::size_t count, std::uint64_t* queue) {
  for (std::size_t i = 0; i < count; ++i) bitmap::set(queue, i);
}

}  // namespace

/// A question about one pod: who looks is told which.
class HintCalls::Asking {
 public:
  Asking(HintCalls& calls, const model::Pod& pod) : calls_(calls), breadcrumb_(pod.ns, pod.name) {
    calls_.at_.store(&pod, std::memory_order_release);
  }
  ~Asking() { calls_.at_.store(nullptr, std::memory_order_relaxed); }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  HintCalls& calls_;
  const observe::PodBreadcrumb breadcrumb_;
};

bool HintCalls::ask(const PluginInstance& plugin, std::uint32_t interest, const model::ClusterEvent& event,
                    const model::EventObjects& objects, std::span<const model::Pod* const> pods, std::uint64_t* queue) {
  arena_.reset();
  const auto show_pod = [&](const model::PodPtr& pod) -> const berth_pod_v1* {
    if (!pod) return nullptr;
    PodView view;
    view.reset(*pod, arena_);
    return view.view(plugin.hint_fields());
  };
  std::optional<SingleNode> old_node, new_node;
  if (objects.old_node) old_node.emplace(plugin, objects.old_node);
  if (objects.new_node) new_node.emplace(plugin, objects.new_node);
  ObjectEvent old_object, new_object;
  const std::uint32_t resource = plugin.resource_of(plugin.requeue->interests[interest]);
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
    const Asking asking(*this, *pods[i]);
    const Code code = call_plugin(plugin, observe::Point::hint, note, [&] {
      return plugin.requeue->hint(plugin.self(), &abi, &pod, 1, &answer, note.abi());
    });
    if (code != Code::success) {
      queue_all(pods.size(), queue);
      return false;
    }
    if ((answer & 1) != 0) bitmap::set(queue, i);
  }
  return true;
}

bool HintCalls::ask_filter(const ProfileRuntime& profile, const PluginInstance& plugin,
                           const model::EventObjects& objects, std::span<const model::Pod* const> pods,
                           std::uint64_t* queue) {
  const bool prepares =
      std::find(profile.pre_filter.begin(), profile.pre_filter.end(), &plugin) != profile.pre_filter.end();
  if (!objects.new_node || plugin.filter == nullptr || prepares) {
    queue_all(pods.size(), queue);
    return true;
  }
  if (context_ == nullptr || &context_->profile() != &profile) context_ = std::make_unique<CycleContext>(profile);
  SingleNode node(plugin, objects.new_node);
  Note note;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    // Not owned: the caller's pod lives as long as this call.
    context_->begin(model::PodPtr(model::PodPtr(), pods[i]), 0, 0, nullptr);
    std::uint64_t pass = 1, unresolvable = 0;
    FilterCall call(*context_, plugin, &pass, &unresolvable, nullptr);
    const Asking asking(*this, *pods[i]);
    const Code code = call.run(context_->abi(plugin), node.block_for(*pods[i]), note);
    context_->end();
    if (code != Code::success || !call.errors().empty()) {
      queue_all(pods.size(), queue);
      return false;
    }
    if ((pass & 1) != 0) bitmap::set(queue, i);
  }
  return true;
}

}  // namespace berth::framework
