// SPDX-License-Identifier: Apache-2.0
#include "queue/plugin_policy.hpp"

#include "cache/pod_groups.hpp"
#include "framework/point_run.hpp"
#include "observe/log.hpp"

namespace berth::queue {
namespace {

using framework::PluginInstance;

/// A call about a pod that lives longer: who looks sees it when it does not return.
struct Watched {
  Watched(framework::OpenCalls* watch, const model::Pod& pod)
      : at(&pod), scope(watch, framework::OpenCalls::Scope::PodAt{at}) {}
  const std::atomic<const model::Pod*> at;
  const framework::OpenCalls::Scope scope;
};

}  // namespace

OrderKey PluginPolicy::key(const model::QueuedPod& pod) {
  const Watched watched(options_.watch, *pod.pod);
  return {calls_.key(sort_, pod)};
}

bool PluginPolicy::before(const model::QueuedPod& a, const model::QueuedPod& b) {
  const Watched watched(options_.watch, *a.pod);
  return calls_.less(sort_, a, b);
}

std::optional<Gate> PluginPolicy::pre_enqueue(const model::QueuedPod& pod, model::PluginIndex first) {
  const framework::ProfileRuntime* const profile = framework_.find(pod.pod->scheduler_name);
  if (profile == nullptr || (options_.opens_gates && pod.pod->spec->gates.empty())) return std::nullopt;
  const Watched watched(options_.watch, *pod.pod);
  const framework::PointRun run(*profile, observe::Point::pre_enqueue);
  const auto ask = [&](const PluginInstance& plugin) -> std::optional<Gate> {
    const framework::Verdict verdict = calls_.pre_enqueue(plugin, pod);
    if (verdict.success()) return std::nullopt;
    return Gate{plugin.index(), verdict.message()};
  };
  for (const PluginInstance* plugin : profile->pre_enqueue)
    if (plugin->index() == first)
      if (auto gate = ask(*plugin)) return gate;
  for (const PluginInstance* plugin : profile->pre_enqueue)
    if (plugin->index() != first)
      if (auto gate = ask(*plugin)) return gate;
  return std::nullopt;
}

QueuePolicy::Grouping PluginPolicy::group_of(const model::Pod& pod) {
  const Watched watched(options_.watch, pod);
  const Result<std::string> name = framework_.group_of(pod);
  if (name.ok()) return name->empty() ? *name : cache::group_key(pod, *name);
  observe::error("A pod is held back, as its group cannot be told", {{"err", name.error().message}, {"pod", pod}});
  return Gate{framework_.profiles().front()->groups->index(), name.error().message};
}

}  // namespace berth::queue
