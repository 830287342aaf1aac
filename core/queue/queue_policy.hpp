// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "model/plugin_set.hpp"
#include "model/pod.hpp"
#include "model/queued_pod.hpp"

namespace berth::queue {

/// Compared word by word, most significant first; smaller is earlier. Unused words stay 0.
struct OrderKey {
  std::array<std::uint64_t, 4> words{};
  friend auto operator<=>(const OrderKey&, const OrderKey&) = default;
};

/// Why a pod may not enter the active queue yet.
struct Gate {
  model::PluginIndex plugin = model::k_no_plugin;
  std::string message;
};

/// What the queue asks the configured plugins: order, gates, class and group of a pod.
///
/// Place:    PluginPolicy asks the plugins of a profile; tests have policies of their own.
/// Lifetime: must outlive the queue.
/// Threads:  every call comes with the queue's lock held: one at a time, from any thread.
///           Implementations must not call the queue.
/// Failure:  none is reported through this port.
///           A gate that fails is a gate (upstream: any code but success).
class QueuePolicy {
 public:
  virtual ~QueuePolicy() = default;

  /// Constant for the life of the policy: true when key() alone orders pods, false when before() decides about equal
  /// keys.
  virtual bool ordered_by_key() const = 0;
  virtual OrderKey key(const model::QueuedPod& pod) = 0;
  /// A strict weak order of pods with equal keys; asked only when ordered_by_key() is false. Slow.
  virtual bool before(const model::QueuedPod& a, const model::QueuedPod& b) = 0;

  /// Runs the pre-enqueue plugins of the pod's profile: `first` before the others when it is not k_no_plugin, then the
  /// rest, up to the first that objects.
  virtual std::optional<Gate> pre_enqueue(const model::QueuedPod& pod, model::PluginIndex first) = 0;

  /// Number of the pod's class, kept in the queue's record and handed out with the ticket. Asked when the pod enters
  /// the queue or changes there.
  virtual std::uint64_t classify(const model::Pod& pod) = 0;

  /// The pods that have to get nodes together with this one have the same text; empty: it goes by itself. A gate: that
  /// cannot be told, and the pod stays behind the gate until it can, whatever else happens. Asked with classify(), so a
  /// pod whose group was not told is asked about again when it changes.
  using Grouping = std::variant<std::string, Gate>;
  virtual Grouping group_of(const model::Pod&) { return {}; }
};

}  // namespace berth::queue
