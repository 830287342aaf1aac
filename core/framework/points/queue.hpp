// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "framework/profile_runtime.hpp"
#include "framework/verdict.hpp"
#include "model/queued_pod.hpp"

namespace berth::framework {

/// Calls the queue points for one pod. Threads: under the queue's lock, one call at a time; keeps an arena for the
/// views.
class QueueCalls {
 public:
  /// All zeros for a plugin without keys.
  std::array<std::uint64_t, 4> key(const PluginInstance& plugin, const model::QueuedPod& pod);
  bool less(const PluginInstance& plugin, const model::QueuedPod& a, const model::QueuedPod& b);
  /// Success, or why the pod stays out.
  Verdict pre_enqueue(const PluginInstance& plugin, const model::QueuedPod& pod);

 private:
  Arena arena_;
};

}  // namespace berth::framework
