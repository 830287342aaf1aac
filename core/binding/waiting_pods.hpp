// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.hpp"
#include "base/symbols.hpp"
#include "binding/timers.hpp"
#include "framework/points/permit.hpp"
#include "framework/ports.hpp"
#include "model/plugin_set.hpp"
#include "model/pod.hpp"

namespace berth::binding {

/// The rejector of a waiting pod that no plugin rejected (it was deleted, berth ends): no event satisfies it. The last number,
/// which the framework hands out only to the 128th plugin name.
inline constexpr model::PluginIndex k_outsider = model::k_max_plugins - 1;

using framework::PermitWait;

/// How the wait of a pod ended.
struct PermitDecision {
  enum class Kind : std::uint8_t { allowed, rejected, preempted };
  Kind kind = Kind::allowed;
  model::PluginIndex plugin = model::k_no_plugin;  // who rejected or preempted
  std::string message;
};

/// Pods whose permit plugins asked to wait. A waiting pod holds no thread.
///
/// Place:    Binder parks a pod before its binding cycle starts and collects the decision; plugins decide through the
///           waiting service, ingest when the pod is deleted, time-outs when neither did.
/// Lifetime: timers outlive it.
/// Threads:  synchronises itself; continuations run without the lock, on the thread that decided.
/// Failure:  decisions about unknown pods answer false. The first decision about a pod wins.
/// Source:   kubernetes v1.36 pkg/scheduler/framework/runtime/waiting_pods_map.go.
///           Departs: no thread waits.
class WaitingPods final : public framework::WaitingPodsPort {
 public:
  using Continuation = std::function<void(PermitDecision)>;

  explicit WaitingPods(Timers& timers) : timers_(timers) {}
  ~WaitingPods() override;
  WaitingPods(const WaitingPods&) = delete;
  WaitingPods& operator=(const WaitingPods&) = delete;

  /// The pod waits from here on. Requires: waits is not empty.
  void park(model::PodPtr pod, Symbol node_name, const std::vector<PermitWait>& waits);
  /// Calls `then` once with the decision: at once when it has fallen, later otherwise. The pod stops being a waiting
  /// pod with it. Requires: parked, and not asked before.
  void when_decided(std::string_view uid, Continuation then);

  bool waiting(std::string_view uid) const;
  std::size_t size() const;

  /// One plugin is content; the last one lets the pod go. True when the pod is known.
  bool allow(std::string_view uid, model::PluginIndex plugin) override;
  /// Lets those of `uids` go that still wait for no other plugin than `plugin`, if there are `enough` of them: all at once, so
  /// that none is rejected in between. Takes the others out of the list. Returns what to call when the caller holds
  /// no lock, or nothing when there are too few.
  using Calls = std::vector<std::function<void()>>;
  std::optional<Calls> allow_together(std::vector<std::string>& uids, model::PluginIndex plugin, std::size_t enough);
  /// False when the pod is unknown or decided.
  bool reject(std::string_view uid, model::PluginIndex plugin, std::string_view message) override;
  /// The pod is a victim: its attempt ends as by an error.
  bool preempt(std::string_view uid, model::PluginIndex plugin, std::string_view message);
  /// The pod was deleted while it waits.
  bool reject_removed(std::string_view uid);
  /// Ends all waits, at shutdown.
  void reject_all(std::string_view message);
  /// Visits a copy: what visit does to waiting pods shows in the next call.
  void each(const std::function<bool(const model::Pod& pod, Symbol node_name)>& visit) override;

 private:
  struct Waiting {
    model::PodPtr pod;
    Symbol node_name = k_no_symbol;
    std::uint64_t turn = 0;  // tells this wait from an earlier one of the same pod
    std::vector<std::pair<model::PluginIndex, Timers::Id>> plugins;
    std::optional<PermitDecision> decision;
    Continuation then;
  };
  using Map = std::map<std::string, Waiting, std::less<>>;

  void time_out(const std::string& uid, std::uint64_t turn, const PermitWait& wait);
  bool decide(std::string_view uid, PermitDecision decision);
  /// Records the decision; returns what to call once the lock is gone.
  std::function<void()> settle(Map::iterator it, PermitDecision decision) REQUIRES(mutex_);

  Timers& timers_;

  mutable Mutex mutex_;  // comes before the lock of timers_
  Map waiting_ GUARDED_BY(mutex_);
  std::uint64_t next_turn_ GUARDED_BY(mutex_) = 0;
};

}  // namespace berth::binding
