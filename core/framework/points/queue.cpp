// SPDX-License-Identifier: Apache-2.0
#include "framework/points/queue.hpp"

#include "framework/plugin_call.hpp"

namespace berth::framework {
namespace {

berth_queue_pod_v1 queue_pod(const PluginInstance& plugin, const QueueCalls::Entry& entry, Arena& arena) {
  PodView view;
  view.reset(entry.pod, arena);
  return {sizeof(berth_queue_pod_v1), entry.attempts, entry.enqueued_ns, view.view(plugin.fields())};
}

}  // namespace

std::uint32_t QueueCalls::key_words(const ProfileRuntime& profile) noexcept {
  const berth_queue_ops_v1* const ops = profile.queue_sort->queue;
  return ops->key != nullptr ? ops->key_words : 0;
}

std::array<std::uint64_t, 4> QueueCalls::key(const PluginInstance& plugin, const model::Pod& pod,
                                             std::uint32_t attempts, std::int64_t enqueued_ns) {
  arena_.reset();
  std::array<std::uint64_t, 4> words{};
  const berth_queue_pod_v1 abi = queue_pod(plugin, {pod, attempts, enqueued_ns}, arena_);
  Note note;
  const Code code = call_plugin(plugin, observe::Point::queue_key, note,
                                [&] { return plugin.queue->key(plugin.self(), &abi, words.data(), note.abi()); });
  BERTH_CHECK(code == Code::success, "plugin {} cannot order pod {}: {}", plugin.name(), pod.key(), note.text());
  return words;
}

bool QueueCalls::less(const PluginInstance& plugin, const Entry& a, const Entry& b) {
  arena_.reset();
  const berth_queue_pod_v1 first = queue_pod(plugin, a, arena_), second = queue_pod(plugin, b, arena_);
  bool before = false;
  Note note;
  call_plugin(plugin, observe::Point::queue_less, note, [&] {
    before = plugin.queue->less(plugin.self(), &first, &second) != 0;
    return berth_code{BERTH_OK};
  });
  return before;
}

Verdict QueueCalls::pre_enqueue(const PluginInstance& plugin, const Entry& entry) {
  arena_.reset();
  const berth_queue_pod_v1 abi = queue_pod(plugin, entry, arena_);
  Note note;
  const Code code = call_plugin(plugin, observe::Point::pre_enqueue, note,
                                [&] { return plugin.queue->pre_enqueue(plugin.self(), &abi, note.abi()); });
  if (code == Code::success) return {};
  return {rejects(code) ? code : Code::error, plugin.index(), sentences(plugin, note)};
}

}  // namespace berth::framework
