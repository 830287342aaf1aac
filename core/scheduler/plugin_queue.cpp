// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugin_queue.hpp"

#include <utility>

#include "ingest/ingest.hpp"

namespace berth::scheduler {

void PluginQueue::activate(std::string_view uid) {
  {
    const Lock lock(mutex_);
    requests_.uids.emplace_back(uid);
  }
  apply_soon();
}

void PluginQueue::activate_class(std::uint64_t pod_class) {
  {
    const Lock lock(mutex_);
    requests_.classes.push_back(pod_class);
  }
  apply_soon();
}

/// One task for all requests until it runs: the queue may be busy, and each task that waits for it holds a thread.
void PluginQueue::apply_soon() {
  if (executor_ == nullptr) return;
  target_.with([this](const Target&) {
    if (is_posted_.exchange(true)) return;
    try {
      executor_->post([this] {
        is_posted_ = false;
        apply();
      });
    } catch (...) {
      is_posted_ = false;  // the next request posts again
      throw;
    }
  });
}

void PluginQueue::apply() {
  {
    const Lock lock(mutex_);
    if (requests_.uids.empty() && requests_.classes.empty()) return;
  }
  target_.with([this](const Target& target) {
    Requests taken;
    {
      const Lock lock(mutex_);
      taken = std::exchange(requests_, {});
    }
    if (!taken.uids.empty()) target.queue.activate_uids(taken.uids);
    for (const std::uint64_t pod_class : taken.classes) target.queue.activate_class(pod_class);
  });
}

std::vector<model::NominatedPod> PluginQueue::nominated() const {
  std::vector<model::NominatedPod> out;
  target_.with([&out](const Target& target) {
    if (target.nominations.has_nominations()) out = target.nominations.nominations();
  });
  std::erase_if(out, [](const model::NominatedPod& each) { return each.node == k_no_symbol; });
  return out;
}

void PluginQueue::object_written(const model::ObjectPtr& object) const {
  const model::EventResource resource = ingest::event_resource(object->resource);
  if (resource == model::EventResource::any) return;
  target_.with([&](const Target& target) {
    target.queue.move_all({resource, model::actions::update, {}},
                          {nullptr, nullptr, nullptr, nullptr, nullptr, object});
  });
}

}  // namespace berth::scheduler
