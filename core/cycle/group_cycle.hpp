// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cache/resource_table.hpp"
#include "cycle/scheduling_cycle.hpp"

namespace berth::cycle {

struct GroupMember {
  model::PodPtr pod;
  std::uint64_t pod_class = 0;
};

/// Pods that get nodes together or not at all.
struct GroupRequest {
  std::string key;                                      // for texts: "namespace/name"
  std::vector<GroupMember> members;                     // that are ready, in the order of the queue
  std::uint32_t needed = 0;                             // so many of them need a node; 1 at least
  std::function<bool(const model::Pod& pod)> of_group;  // bound members included
};

/// How long a plan for a group may take: no other pod is decided about meanwhile.
inline constexpr std::int64_t k_plan_limit_ns = 30'000'000'000;

/// What ends a plan before it is complete, and who hears how far it is.
struct PlanLimits {
  const Clock* clock = nullptr;                                    // null: the plan takes as long as it takes
  std::int64_t limit_ns = k_plan_limit_ns;                         // for all orders together; counts only with a clock
  std::function<bool()> given_up = {};                             // what is decided is not wanted any more
  std::function<void(const model::PodPtr& member)> comes_to = {};  // each time that a member is the next
};

struct GroupOutcome {
  enum class Kind : std::uint8_t {
    placed,    // needed members or more have a node; a rejected one goes on by itself
    short_of,  // too few fit: no member has a node
    evicts,    // they fit once the victims that rejections name are gone; no member has a node, all are nominated
    overdue,   // the limit was reached before that was known; no member has a node
    given_up   // as PlanLimits says; no member has a node
  };
  Kind kind = Kind::short_of;
  std::vector<Outcome> members;  // parallel to the request
};

/// Plans all ready members of a group on one snapshot, each seeing those before it, and keeps the plan only when it is
/// complete.
///
/// Tries the order of the queue, then the hardest members first, then evictions. Pods that are alike are tried once for
/// as long as nothing changes, so that members beyond what fits cost nothing. While a plan is made its members are
/// assumed in the cache and reserved by the plugins, since each has to see the others; run() gives all of that back
/// unless the plan is kept, and then cache, nominations and plugins are as they were.
///
/// Budget:  of each member with a node what reserve, permit and binding points read; what the search for the node took
///          goes before the next member's begins. No member begins its turn once the limit is reached.
///
/// Place:   a scheduler has one next to its SchedulingCycle, whose parts it runs.
///
/// Threads: the scheduling thread.
///
/// Failure: a member that breaks ends the plan; its error is that of each member.
///
/// Source:  kubernetes v1.36 pkg/scheduler/schedule_one_podgroup.go (podGroupCycle).
///          Departs: the second order;
///          evictions count only when they make room for the whole group, and never among its own members.
class GroupCycle {
 public:
  /// All outlive it.
  GroupCycle(SchedulingCycle& cycle, cache::Snapshot& snapshot, cache::ResourceTable& resources, PlanLimits limits = {})
      : cycle_(cycle), snapshot_(snapshot), resources_(resources), limits_(std::move(limits)) {}

  GroupOutcome run(const GroupRequest& request);

 private:
  enum class Stop : std::uint8_t { none, overdue, given_up };
  struct Plan {
    std::vector<Attempt> attempts;        // parallel to the request; empty ones were not reached
    std::size_t fit = 0;                  // members with a node of their own, without evictions
    std::size_t reserved = 0;             // members with a node
    std::optional<std::size_t> blocking;  // the first that has none
    std::optional<std::size_t> broken;    // it failed by an error
    Stop stopped = Stop::none;            // before the turn of the rest came
  };
  using Order = std::vector<std::size_t>;

  Plan plan(const GroupRequest& request, const Order& order, const GangAttempt& gang);
  Stop stop() const;
  void comes_to(const model::PodPtr& member) const;
  /// Gives every node back, the last one first.
  void drop(const GroupRequest& request, Plan& plan);
  /// An earlier plan made room that is not free yet: post-filter left the node with the member it was nominated to.
  static bool waits_for_victims(const GroupRequest& request, const Plan& plan);
  GroupOutcome keep(const GroupRequest& request, Plan plan, const GangAttempt& gang);
  /// A member beyond those that are needed is like any pod, but for members not being evicted: what can be done about
  /// it is asked for it alone.
  Outcome try_alone(const GroupMember& member, const GangAttempt& gang);
  GroupOutcome refuse(const GroupRequest& request, Plan plan);
  GroupOutcome evict(const GroupRequest& request, Plan plan);
  GroupOutcome fail(const GroupRequest& request, Plan plan);
  GroupOutcome end_early(const GroupRequest& request, Plan plan);
  Order hardest_first(const GroupRequest& request, const Plan& plan);

  SchedulingCycle& cycle_;
  cache::Snapshot& snapshot_;
  cache::ResourceTable& resources_;
  const PlanLimits limits_;
  std::int64_t began_ns_ = 0;
};

}  // namespace berth::cycle
