// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.hpp"
#include "base/late.hpp"
#include "binding/executor.hpp"
#include "cluster/cluster_writer.hpp"
#include "framework/ports.hpp"
#include "queue/scheduling_queue.hpp"

namespace berth::binding {

/// Whom to evict for whom.
struct EvictionOrder {
  model::PodPtr preemptor;
  std::string profile;  // of the preemptor
  std::string plugin;   // that decided it
  model::PluginIndex plugin_index = model::k_no_plugin;
  std::string node;
  std::vector<model::PodPtr> victims;  // most important first
  /// Less important pods that are nominated to the node: their nomination ends.
  std::vector<model::PodPtr> outranked;
  std::int64_t began_ns = 0;  // monotonic, for who hears of the end
};

/// The preemptors whose evictions are under way.
///
/// Place:    Evictions writes it; plugins ask it through the preemption service. It is there before them.
/// Threads:  any; evicting() may be called under the queue's lock and takes that of the cluster's store.
class EvictionsUnderWay final : public framework::EvictionsPort {
 public:
  /// lookup: the pod as the cluster has it now.
  explicit EvictionsUnderWay(queue::PodLookup lookup) : lookup_(std::move(lookup)) {}

  /// True while evictions for the pod are under way: once only the last one is left, until the cluster shows that
  /// victim as terminating or gone.
  bool evicting(std::string_view uid) override;

  void begin(const model::Uid& preemptor);
  /// Only that victim is left.
  void reach_last(const model::Uid& preemptor, const model::PodPtr& victim);
  void end(const model::Uid& preemptor);

 private:
  const queue::PodLookup lookup_;
  Mutex mutex_;  // a leaf
  std::map<std::string, std::pair<std::uint32_t, model::PodPtr>, std::less<>> runs_
      GUARDED_BY(mutex_);  // by uid: runs, last victim
};

/// What evictions work with. All outlive them.
struct EvictionParts {
  Executor& executor;
  cluster::ClusterWriter& writer;
  framework::ActivationPort& activation;
  EvictionsUnderWay& under_way;
  /// Ends the attempt of a pod that is on its way to a node: it needs no write then. False when it is too late for
  /// that.
  std::function<bool(std::string_view uid, model::PluginIndex by, const std::string& plugin)> stop_binding;
  /// Hears of the end of each preemption that had pods to evict. May be empty.
  std::function<void(const EvictionOrder& order, bool failed)> on_ended = {};
};

/// Carries out preemptions while scheduling goes on: ends outranked nominations, then evicts all victims but the
/// last, then the last. Meanwhile the preemptor counts as evicting, and a gate keeps it out of the active queue,
/// because trying it before its room is free would find nothing.
///
/// Place:   the scheduling loop calls start() before it hands the failed attempt on.
/// Threads: start() from the scheduling loop;
///          the rest runs where writes end.
/// Failure: a write that fails ends the preemption,
///          and the preemptor is tried again at once.
///          A victim that is gone already is no failure.
/// Source:  kubernetes v1.36 pkg/scheduler/framework/preemption/executor.go.
class Evictions {
 public:
  /// Its end waits for what runs at the moment; writes that end later are ignored.
  explicit Evictions(EvictionParts parts);
  Evictions(const Evictions&) = delete;
  Evictions& operator=(const Evictions&) = delete;

  void start(EvictionOrder order);
  /// The same in the caller's time, as with SchedulerAsyncPreemption=false: evicts all victims at once, then ends
  /// outranked nominations, and waits for both, at most that long. The error of a victim that could not be evicted.
  /// The preemptor does not count as evicting meanwhile. Requires: writes end on other threads, or at once.
  Status carry_out(EvictionOrder order, std::chrono::milliseconds limit);

 private:
  struct Run;
  using RunPtr = std::shared_ptr<Run>;
  using Next = std::function<void()>;
  /// Calls write(item, done) for each item; `next` when all are done, whatever came of them.
  template <typename Item, typename Write>
  void for_all(const RunPtr& run, const std::vector<Item>& items, Write&& write, Next next);
  void end_nomination(const model::PodPtr& pod, std::function<void(Status)> done);
  void end_nominations(const RunPtr& run);
  void evict_all_but_last(const RunPtr& run);
  void evict_last(const RunPtr& run);
  void evict(const RunPtr& run, const model::PodPtr& victim, std::function<void(Status)> done);
  void tell(const EvictionOrder& order, const model::Pod& victim, bool in_memory);
  void finish(const RunPtr& run);
  /// The function, doing nothing once this object is gone.
  template <typename F>
  auto while_alive(F f) const;

  struct Alive {};
  using Entrance = Late<Alive>;
  const EvictionParts parts_;
  const std::shared_ptr<Entrance> entrance_;  // shared by what is posted
  const Entrance::Presence is_alive_;         // its end waits for what has begun
};

}  // namespace berth::binding
