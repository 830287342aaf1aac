// SPDX-License-Identifier: Apache-2.0
#include "binding/evictions.hpp"

#include <algorithm>
#include <atomic>
#include <future>

#include "base/guarded.hpp"
#include "cluster/cluster_writer.hpp"
#include "observe/log.hpp"

namespace berth::binding {

using cluster::is_gone;

bool EvictionsUnderWay::evicting(std::string_view uid) {
  model::PodPtr last;
  {
    const Lock lock(mutex_);
    const auto at = runs_.find(uid);
    if (at == runs_.end()) return false;
    last = at->second.second;
  }
  if (last == nullptr) return true;
  const model::PodPtr now = lookup_(*last);
  return now != nullptr && now->uid == last->uid && !now->deleting;
}

void EvictionsUnderWay::begin(const model::Uid& preemptor) {
  const Lock lock(mutex_);
  auto& [runs, last] = runs_[preemptor.text()];
  ++runs;
  last.reset();
}

void EvictionsUnderWay::reach_last(const model::Uid& preemptor, const model::PodPtr& victim) {
  const Lock lock(mutex_);
  if (const auto at = runs_.find(preemptor.text()); at != runs_.end()) at->second.second = victim;
}

void EvictionsUnderWay::end(const model::Uid& preemptor) {
  const Lock lock(mutex_);
  const auto at = runs_.find(preemptor.text());
  if (at != runs_.end() && --at->second.first == 0) runs_.erase(at);
}

Evictions::Evictions(EvictionParts parts)
    : parts_(std::move(parts)), entrance_(std::make_shared<Entrance>()), is_alive_(*entrance_, Alive{}) {}

template <typename F>
auto Evictions::while_alive(F f) const {
  return [entrance = entrance_, f = std::move(f)](auto&&... values) {
    entrance->with([&](const Alive&) { f(std::forward<decltype(values)>(values)...); });
  };
}

struct Evictions::Run {
  EvictionOrder order;
  std::atomic<bool> failed{false};
  Mutex mutex;                          // a leaf
  std::string error GUARDED_BY(mutex);  // of the first victim that could not be evicted
  std::promise<void> ended;             // of carry_out()
};

void Evictions::start(EvictionOrder order) {
  const std::size_t victim_count = order.victims.size();
  std::erase_if(order.victims, [](const model::PodPtr& victim) { return victim->deleting; });
  if (order.victims.empty()) return;
  observe::V(2).info("Start the preemption asynchronously", {{"preemptor", *order.preemptor},
                                                             {"node", order.node},
                                                             {"numVictims", victim_count},
                                                             {"numVictimsToDelete", order.victims.size()}});
  parts_.under_way.begin(order.preemptor->uid);
  auto run = std::make_shared<Run>();
  run->order = std::move(order);
  parts_.executor.post(while_alive([this, run] { end_nominations(run); }));
}

Status Evictions::carry_out(EvictionOrder order, std::chrono::milliseconds limit) {
  std::erase_if(order.victims, [](const model::PodPtr& victim) { return victim->deleting; });
  const auto run = std::make_shared<Run>();
  run->order = std::move(order);
  std::future<void> ended = run->ended.get_future();
  for_all(
      run, run->order.victims,
      [this, run](const model::PodPtr& victim, std::function<void(Status)> done) {
        evict(run, victim, [run, done = std::move(done)](Status status) {
          if (!status.ok()) {
            const Lock lock(run->mutex);
            if (run->error.empty()) run->error = status.error().message;
          }
          done(std::move(status));
        });
      },
      [this, run] {
        if (run->failed) return run->ended.set_value();
        for_all(
            run, run->order.outranked,
            [this](const model::PodPtr& pod, cluster::ClusterWriter::Done done) {
              end_nomination(pod, std::move(done));
            },
            [run] { run->ended.set_value(); });
      });
  if (ended.wait_for(limit) != std::future_status::ready)
    return Error{fmt::format("evictions on node {} took longer than {} ms", run->order.node, limit.count())};
  const Lock lock(run->mutex);
  return run->error.empty() ? Status(Unit{}) : Status(Error{run->error});
}

template <typename Item, typename Write>
void Evictions::for_all(const RunPtr& run, const std::vector<Item>& items, Write&& write, Next next) {
  if (items.empty()) return next();
  auto open = std::make_shared<std::atomic<std::size_t>>(items.size());
  for (const Item& item : items)
    write(item, [run, open, next](const Status& status) {
      if (!status.ok()) run->failed = true;
      if (open->fetch_sub(1) == 1) next();
    });
}

void Evictions::end_nomination(const model::PodPtr& pod, std::function<void(Status)> done) {
  cluster::PodStatusPatch patch;
  patch.nominated_node = "";
  patch.urgent = true;
  parts_.writer.patch_pod_status(
      cluster::PodRef::of(*pod), patch, while_alive([pod, done = std::move(done)](const Status& status) {
        if (!status.ok() && !is_gone(status) && !cluster::is_stopped(status))
          observe::error("Cannot clear 'NominatedNodeName' field", {{"err", status.error().message}, {"pod", *pod}});
        done(is_gone(status) ? Status(Unit{}) : status);
      }));
}

void Evictions::end_nominations(const RunPtr& run) {
  for_all(
      run, run->order.outranked,
      [this](const model::PodPtr& pod, cluster::ClusterWriter::Done done) { end_nomination(pod, std::move(done)); },
      [this, run] { evict_all_but_last(run); });
}

void Evictions::evict_all_but_last(const RunPtr& run) {
  const auto& victims = run->order.victims;
  const std::vector<model::PodPtr> first(victims.begin(), victims.end() - 1);
  for_all(
      run, first,
      [this, run](const model::PodPtr& victim, std::function<void(Status)> done) {
        evict(run, victim, std::move(done));
      },
      [this, run] { run->failed ? finish(run) : evict_last(run); });
}

void Evictions::evict_last(const RunPtr& run) {
  const model::PodPtr victim = run->order.victims.back();
  parts_.under_way.reach_last(run->order.preemptor->uid, victim);
  evict(run, victim, [this, run](const Status& status) {
    if (!status.ok()) run->failed = true;
    finish(run);
  });
}

void Evictions::finish(const RunPtr& run) {
  parts_.under_way.end(run->order.preemptor->uid);
  observe::V(2).info(
      "Async Preemption finished completely",
      {{"preemptor", *run->order.preemptor}, {"node", run->order.node}, {"result", run->failed ? "error" : "success"}});
  if (parts_.on_ended) parts_.on_ended(run->order, run->failed);
  if (run->failed) parts_.activation.activate(run->order.preemptor->uid.text());
}

void Evictions::evict(const RunPtr& run, const model::PodPtr& victim, std::function<void(Status)> done) {
  const EvictionOrder& order = run->order;
  if (parts_.stop_binding(victim->uid.text(), order.plugin_index, order.plugin)) {
    observe::V(2).info("Preemptor preempted a waiting pod",
                       {{"preemptor", *order.preemptor}, {"waitingPod", *victim}, {"node", order.node}});
    tell(order, *victim, true);
    return done(Unit{});
  }
  const cluster::PodRef ref = cluster::PodRef::of(*victim).for_sake_of(*order.preemptor);
  const auto refused = [run, victim, done](Status status) {
    if (is_gone(status)) {  // another client was faster; no event is written
      observe::V(2).info("Victim Pod is already deleted",
                         {{"preemptor", *run->order.preemptor}, {"victim", *victim}, {"node", run->order.node}});
      return done(Unit{});
    }
    if (!cluster::is_stopped(status))
      observe::error("Tried to preempted pod",
                     {{"err", status.error().message}, {"pod", *victim}, {"preemptor", *run->order.preemptor}});
    done(std::move(status));
  };
  const auto remove = [this, run, victim, ref, done, refused] {
    parts_.writer.evict(ref, while_alive([this, run, victim, done, refused](const Status& removed) {
                          if (!removed.ok()) return refused(removed);
                          observe::V(2).info(
                              "Preemptor Pod preempted victim Pod",
                              {{"preemptor", *run->order.preemptor}, {"victim", *victim}, {"node", run->order.node}});
                          tell(run->order, *victim, false);
                          done(Unit{});
                        }));
  };
  // The reason stands on the pod before it goes, so that its owner can tell a preemption from a crash.
  model::PodCondition condition{"DisruptionTarget", "True", "PreemptionByScheduler",
                                fmt::format("{}: preempting to accommodate a higher priority pod", order.profile)};
  if (std::find(victim->conditions.begin(), victim->conditions.end(), condition) != victim->conditions.end())
    return remove();
  cluster::PodStatusPatch patch;
  patch.conditions.push_back(std::move(condition));
  patch.observed_generation = victim->spec->generation;
  patch.urgent = true;
  parts_.writer.patch_pod_status(ref, patch, while_alive([remove, refused](const Status& patched) {
                                   if (!patched.ok()) return refused(patched);
                                   remove();
                                 }));
}

void Evictions::tell(const EvictionOrder& order, const model::Pod& victim, bool in_memory) {
  cluster::EventRecord event;
  event.regarding = cluster::PodRef::of(victim);
  event.reason = "Preempted";
  event.action = "Preempting";
  event.note = fmt::format("Preempted by pod {} on node {}{}", order.preemptor->uid, order.node,
                           in_memory ? " (in kube-scheduler memory)." : "");
  event.controller = order.profile;
  event.related = cluster::PodRef::of(*order.preemptor);
  parts_.writer.record_event(event, [](const Status&) {});
}

}  // namespace berth::binding
