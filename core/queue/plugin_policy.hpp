// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>

#include "framework/framework.hpp"
#include "framework/open_calls.hpp"
#include "framework/points/queue.hpp"
#include "queue/queue_policy.hpp"

namespace berth::queue {

struct PluginPolicyOptions {
  /// Only a pod's own scheduling gates hold it back: all others are tried, whatever pre-enqueue plugins say.
  bool opens_gates = false;
  framework::OpenCalls* watch = nullptr;  // sees calls that do not return; null: they are not watched
};

/// Order, gates, class and group of pods as the configured plugins say.
///
/// Lifetime: the framework outlives it. Threads: as QueuePolicy.
class PluginPolicy final : public QueuePolicy {
 public:
  PluginPolicy(framework::Framework& framework, PluginPolicyOptions options)
      : framework_(framework), options_(options), sort_(*framework.profiles().front()->queue_sort) {}

  bool ordered_by_key() const override { return sort_.queue->less == nullptr; }
  OrderKey key(const model::QueuedPod& pod) override;
  bool before(const model::QueuedPod& a, const model::QueuedPod& b) override;
  /// Success, even when a plugin closes a gate: as upstream.
  std::optional<Gate> pre_enqueue(const model::QueuedPod& pod, model::PluginIndex first) override;
  std::uint64_t classify(const model::Pod& pod) override { return framework_.classify(pod); }
  Grouping group_of(const model::Pod& pod) override;

 private:
  framework::Framework& framework_;
  const PluginPolicyOptions options_;
  const framework::PluginInstance& sort_;
  framework::QueueCalls calls_;
};

}  // namespace berth::queue
