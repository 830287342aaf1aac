// SPDX-License-Identifier: Apache-2.0
#include "framework/points/queue.hpp"

#include "framework/plugin_call.hpp"

namespace berth::framework {
namespace {

berth_queue_pod_v1 queue_pod(const PodFields& shown, const model::QueuedPod& pod, Arena& arena) {
  PodView view;
  view.reset(*pod.pod, arena);
  return {sizeof(berth_queue_pod_v1), pod.attempts, pod.enqueued_ns, view.view(shown), pod.first_attempt_ns};
}

}  // namespace

std::array<std::uint64_t, 4> QueueCalls::key(const PluginInstance& plugin, const model::QueuedPod& pod) {
  std::array<std::uint64_t, 4> words{};
  if (plugin.queue->key == nullptr || plugin.queue->key_words == 0) return words;
  arena_.reset();
  const berth_queue_pod_v1 abi = queue_pod(plugin.fields(), pod, arena_);
  Note note;
  const Code code = call_plugin(plugin, observe::Point::queue_key, note,
                                [&] { return plugin.queue->key(plugin.self(), &abi, words.data(), note.abi()); });
  BERTH_CHECK(code == Code::success, "plugin {} cannot order pod {}: {}", plugin.name(), pod.pod->key(), note.text());
  return words;
}

bool QueueCalls::less(const PluginInstance& plugin, const model::QueuedPod& a, const model::QueuedPod& b) {
  arena_.reset();
  const berth_queue_pod_v1 first = queue_pod(plugin.fields(), a, arena_),
                           second = queue_pod(plugin.fields(), b, arena_);
  bool before = false;
  Note note;
  call_plugin(plugin, observe::Point::queue_less, note, [&] {
    before = plugin.queue->less(plugin.self(), &first, &second) != 0;
    return berth_code{BERTH_OK};
  });
  return before;
}

Verdict QueueCalls::pre_enqueue(const PluginInstance& plugin, const model::QueuedPod& pod) {
  arena_.reset();
  const berth_queue_pod_v1 abi = queue_pod(plugin.hint_fields(), pod, arena_);
  Note note;
  const Code code = call_plugin(plugin, observe::Point::pre_enqueue, note,
                                [&] { return plugin.queue->pre_enqueue(plugin.self(), &abi, note.abi()); });
  if (code == Code::success) return {};
  return {rejects(code) ? code : Code::error, plugin.index(), sentences(plugin, note)};
}

}  // namespace berth::framework
