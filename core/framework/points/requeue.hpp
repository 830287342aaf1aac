// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "framework/cycle_context.hpp"
#include "framework/profile_runtime.hpp"
#include "model/event.hpp"

namespace berth::framework {

/// Asks plugins whether an event may help pods they rejected. Threads: one at a time, each may have one of its own.
class HintCalls {
 public:
  /// `interest` is an index into the plugin's interests. Sets bit i of `queue` where pods[i] is worth another attempt.
  /// A plugin that fails queues all of them, and the answer is false.
  bool ask(const PluginInstance& plugin, std::uint32_t interest, const model::ClusterEvent& event,
           const model::EventObjects& objects, std::span<const model::Pod* const> pods, std::uint64_t* queue);
  /// The same for a derived interest: the plugin's filter on the node as it is after the event, empty of pods, is the
  /// answer. Other events, plugins that filter by a state of their own (pre-filter), and filters that fail queue all.
  bool ask_filter(const ProfileRuntime& profile, const PluginInstance& plugin, const model::EventObjects& objects,
                  std::span<const model::Pod* const> pods, std::uint64_t* queue);

  /// The pod that a plugin is being asked about; null: none. It lives as long as it stands there. Threads: any.
  const std::atomic<const model::Pod*>& at() const noexcept { return at_; }

 private:
  class Asking;

  std::atomic<const model::Pod*> at_{nullptr};
  Arena arena_;
  std::unique_ptr<CycleContext> context_;  // of the profile that was asked last
};

}  // namespace berth::framework
