// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/event.hpp"
#include "model/plugin_set.hpp"

/// Which events may help pods that a plugin rejected.
/// Source: kubernetes v1.36 pkg/scheduler/backend/queue/scheduling_queue.go (isPodWorthRequeuing),
/// pkg/scheduler/scheduler.go (buildQueueingHintMap). Departs: hints are asked for many waiting pods at once.
namespace berth::queue {

/// One event and the waiting pods it is to be judged for. Valid for the call; who keeps a pod for longer copies the
/// PodPtr, which is never null.
struct HintCall {
  const model::ClusterEvent& event;  // as it came in, not as registered
  const model::EventObjects& objects;
  std::span<const model::PodPtr* const> pods;
};

/// Sets bit i of `queue` (zero on entry, bit i is bit (i & 63) of word (i >> 6)) when pods[i] is worth another attempt.
/// A hint that fails sets every bit. Threads: under the queue's lock, so it returns soon, whatever a plugin does that it
/// asks; must not call the queue.
using Hint = std::function<void(const HintCall& call, std::uint64_t* queue)>;

/// One event a plugin asked for.
struct Registration {
  model::ClusterEvent registered;
  model::PluginIndex plugin = model::k_no_plugin;
  Hint hint;              // empty: always worth another attempt
  bool by_class = false;  // the hint looks at nothing but the pod's class: one pod per class is asked
};

struct ProfileHints {
  std::string scheduler_name;
  std::vector<Registration> registrations;  // asked in this order
};

/// The registrations of all profiles: a value, made once by the wiring.
class HintTable {
 public:
  static constexpr std::uint16_t k_no_profile = 0xffff;

  HintTable() = default;
  explicit HintTable(std::vector<ProfileHints> profiles) : profiles_(std::move(profiles)) {}

  /// Number of the profile, or k_no_profile.
  std::uint16_t profile_of(std::string_view scheduler_name) const noexcept;
  std::size_t profile_count() const noexcept { return profiles_.size(); }
  /// Requires: profile < profile_count().
  const ProfileHints& profile(std::size_t profile) const { return profiles_[profile]; }

  /// The plugins that asked for such an event, in any profile.
  model::PluginSet askers(const model::ClusterEvent& incoming) const;
  /// True when `plugin` asked for such an event, in any profile.
  bool asked(model::PluginIndex plugin, const model::ClusterEvent& incoming) const noexcept;

 private:
  std::vector<ProfileHints> profiles_;
};

/// Appends what one plugin asked for, and the implicit registration: who registers Node/Add but no Node/UpdateNodeTaint
/// hears of taint updates too, without a hint, because a node that became ready is announced by its taints only.
/// Requires: `own` belongs to one plugin.
void append_registrations(std::vector<Registration>& to, std::vector<Registration> own);

/// What a plugin hears of that takes part in pre-enqueue, pre-filter, filter, reserve or permit and registered nothing.
std::vector<Registration> default_registrations(model::PluginIndex plugin);

}  // namespace berth::queue
