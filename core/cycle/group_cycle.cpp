// SPDX-License-Identifier: Apache-2.0
#include "cycle/group_cycle.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <unordered_set>

#include "base/bitmap.hpp"

namespace berth::cycle {
namespace {

using framework::Code;

// Why a pod is exempt from eviction.
constexpr const char* k_member = "of the same group";
constexpr const char* k_important = "of no lower priority than the whole group";

/// The same answer for both, also to the question who should go for them.
bool alike(const GroupMember& a, const GroupMember& b) {
  return a.pod_class != 0 && a.pod_class == b.pod_class && a.pod->priority == b.pod->priority &&
         a.pod->spec->preempts == b.pod->spec->preempts && a.pod->nominated_node == b.pod->nominated_node;
}

bool all_alike(const GroupRequest& request) {
  return std::all_of(request.members.begin(), request.members.end(),
                     [&](const GroupMember& member) { return alike(member, request.members.front()); });
}

std::int32_t lowest_priority(const GroupRequest& request) {
  std::int32_t lowest = std::numeric_limits<std::int32_t>::max();
  for (const GroupMember& member : request.members) lowest = std::min(lowest, member.pod->priority);
  return lowest;
}

/// Why the member has no node; null: it has one, or was not tried.
const Rejection* rejection_of(const Attempt& attempt) {
  return attempt.rejection && !attempt.placement ? &*attempt.rejection : nullptr;
}

/// Whatever could help one member is worth another look at all of them.
queue::Rejectors all_rejectors(const std::vector<Attempt>& attempts) {
  queue::Rejectors all;
  for (const Attempt& attempt : attempts) {
    if (!attempt.rejection) continue;
    all.unschedulable |= attempt.rejection->rejectors.unschedulable;
    all.pending |= attempt.rejection->rejectors.pending;
  }
  return all;
}

}  // namespace

GroupOutcome GroupCycle::run(const GroupRequest& request) {
  BERTH_CHECK(!request.members.empty() && request.needed != 0, "a plan without members: group {}", request.key);
  std::unordered_set<model::Uid> uids;
  for (const GroupMember& member : request.members) uids.insert(member.pod->uid);
  GangAttempt gang;
  gang.member = [&](const model::Pod& pod) { return uids.count(pod.uid) != 0 || request.of_group(pod); };
  cycle_.begin_gang_attempt();
  if (limits_.clock != nullptr) began_ns_ = limits_.clock->monotonic_ns();

  // 1. The order of the queue.
  Order in_order(request.members.size());
  std::iota(in_order.begin(), in_order.end(), std::size_t{0});
  Plan best = plan(request, in_order, gang);
  const auto decided = [&] { return best.broken || best.stopped != Stop::none || best.fit >= request.needed; };

  // 2. A small member may have taken the only place of a big one.
  if (!decided() && !all_alike(request)) {
    const Order hardest = hardest_first(request, best);
    if (hardest != in_order) {
      drop(request, best);
      best = plan(request, hardest, gang);
    }
  }

  // 3. Less important pods may have to go: for all that are needed, or for none.
  if (!decided()) {
    drop(request, best);
    gang.post_filter = true;
    gang.takes_room = true;
    gang.exemption = [&, below = lowest_priority(request)](const model::Pod& pod) {
      return gang.member(pod) ? k_member : pod.priority >= below ? k_important : nullptr;
    };
    best = plan(request, in_order, gang);
    if (!decided() && best.reserved >= request.needed && !waits_for_victims(request, best))
      return evict(request, std::move(best));
  }

  if (best.stopped != Stop::none) return end_early(request, std::move(best));
  if (best.broken) return fail(request, std::move(best));
  return best.fit >= request.needed ? keep(request, std::move(best), gang) : refuse(request, std::move(best));
}

GroupCycle::Plan GroupCycle::plan(const GroupRequest& request, const Order& order, const GangAttempt& gang) {
  Plan plan;
  plan.attempts.resize(request.members.size());
  const Rejection* latest = nullptr;  // nothing changed since this one of latest_member
  const GroupMember* latest_member = nullptr;
  for (const std::size_t i : order) {
    const GroupMember& member = request.members[i];
    plan.stopped = stop();
    if (plan.stopped != Stop::none) return plan;
    comes_to(member.pod);
    if (latest != nullptr && alike(member, *latest_member))
      plan.attempts[i].rejection = *latest;
    else
      plan.attempts[i] = cycle_.reserve(member.pod, member.pod_class, gang);
    if (const Rejection* rejection = rejection_of(plan.attempts[i])) {
      if (!plan.blocking) plan.blocking = i;
      latest = rejection;
      latest_member = &member;
      if (!framework::rejects(rejection->code)) {
        plan.broken = i;
        return plan;
      }
      continue;
    }
    latest = nullptr;
    ++plan.reserved;
    if (!plan.attempts[i].rejection) ++plan.fit;
  }
  return plan;
}

GroupCycle::Stop GroupCycle::stop() const {
  if (limits_.given_up && limits_.given_up()) return Stop::given_up;
  if (limits_.clock == nullptr) return Stop::none;
  return limits_.clock->monotonic_ns() - began_ns_ >= limits_.limit_ns ? Stop::overdue : Stop::none;
}

void GroupCycle::comes_to(const model::PodPtr& member) const {
  if (limits_.comes_to) limits_.comes_to(member);
}

void GroupCycle::drop(const GroupRequest& request, Plan& plan) {
  for (std::size_t i = plan.attempts.size(); i-- > 0;) {
    std::optional<Placement>& placement = plan.attempts[i].placement;
    if (!placement) continue;
    comes_to(request.members[i].pod);
    cycle_.give_back(std::move(*placement));
    placement.reset();
  }
}

bool GroupCycle::waits_for_victims(const GroupRequest& request, const Plan& plan) {
  for (std::size_t i = 0; i < plan.attempts.size(); ++i) {
    const Rejection* const rejection = rejection_of(plan.attempts[i]);
    if (rejection != nullptr && request.members[i].pod->nominated_node != k_no_symbol &&
        rejection->nomination.mode == model::Nomination::Mode::keep)
      return true;
  }
  return false;
}

GroupOutcome GroupCycle::keep(const GroupRequest& request, Plan plan, const GangAttempt& gang) {
  std::vector<std::optional<Outcome>> outcomes(request.members.size());
  std::size_t permitted = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    Attempt& attempt = plan.attempts[i];
    if (!attempt.placement || attempt.rejection) continue;
    comes_to(request.members[i].pod);
    outcomes[i] = cycle_.permit(std::move(*attempt.placement));
    attempt.placement.reset();
    if (const auto* rejection = std::get_if<Rejection>(&*outcomes[i])) {
      attempt.rejection = *rejection;
      if (!plan.blocking) plan.blocking = i;
    } else {
      ++permitted;
    }
  }
  if (permitted < request.needed) {  // some permit plugin rejected one of them
    for (std::size_t i = outcomes.size(); i-- > 0;)
      if (outcomes[i])
        if (auto* placement = std::get_if<Placement>(&*outcomes[i])) {
          comes_to(request.members[i].pod);
          cycle_.give_back(std::move(*placement));
        }
    plan.fit = permitted;
    return refuse(request, std::move(plan));
  }
  drop(request, plan);
  GroupOutcome outcome;
  outcome.kind = GroupOutcome::Kind::placed;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!outcomes[i]) {
      Rejection& planned = *plan.attempts[i].rejection;
      if (stop() == Stop::none) {
        comes_to(request.members[i].pod);
        outcomes[i] = try_alone(request.members[i], gang);
      } else {  // later, by itself
        planned.drop_evictions();
        outcomes[i] = std::move(planned);
      }
    }
    outcome.members.push_back(std::move(*outcomes[i]));
  }
  return outcome;
}

Outcome GroupCycle::try_alone(const GroupMember& member, const GangAttempt& gang) {
  GangAttempt alone;
  alone.member = [](const model::Pod&) { return false; };
  alone.exemption = [&](const model::Pod& pod) { return gang.member(pod) ? k_member : nullptr; };
  alone.post_filter = true;
  Attempt tried = cycle_.reserve(member.pod, member.pod_class, alone);
  if (!tried.placement) return std::move(*tried.rejection);
  return cycle_.permit(std::move(*tried.placement));
}

GroupOutcome GroupCycle::refuse(const GroupRequest& request, Plan plan) {
  drop(request, plan);
  GroupOutcome outcome;
  outcome.kind = GroupOutcome::Kind::short_of;
  const std::size_t blocking = plan.blocking.value_or(0);
  Rejection cause = *rejection_of(plan.attempts[blocking]);
  cause.rejectors = all_rejectors(plan.attempts);
  cause.drop_evictions();
  Rejection others = cause;
  others.code = Code::unschedulable;
  others.post_filter_message.clear();
  others.message = fmt::format("pod group {}: {} of {} members fit; {}: {}", request.key, plan.fit, request.needed,
                               request.members[blocking].pod->name, cause.message);
  for (std::size_t i = 0; i < request.members.size(); ++i) outcome.members.emplace_back(i == blocking ? cause : others);
  return outcome;
}

GroupOutcome GroupCycle::evict(const GroupRequest& request, Plan plan) {
  GroupOutcome outcome;
  outcome.kind = GroupOutcome::Kind::evicts;
  std::vector<Symbol> nodes(request.members.size(), k_no_symbol);
  for (std::size_t i = 0; i < plan.attempts.size(); ++i)
    if (plan.attempts[i].placement) nodes[i] = plan.attempts[i].placement->assumption.node_name();
  const queue::Rejectors rejectors = all_rejectors(plan.attempts);
  drop(request, plan);
  std::size_t first = 0;
  while (rejection_of(plan.attempts[first]) == nullptr) ++first;
  const std::string why = rejection_of(plan.attempts[first])->message;
  std::set<std::string> victims;  // several members may need the same one out of their way
  for (std::size_t i = 0; i < request.members.size(); ++i) {
    Rejection rejection;
    if (const Rejection* own = rejection_of(plan.attempts[i])) {
      rejection = *own;
    } else {
      rejection.message = fmt::format("pod group {}: {} of {} members fit; {}: {}", request.key, plan.fit,
                                      request.needed, request.members[first].pod->name, why);
    }
    rejection.rejectors = rejectors;
    if (nodes[i] != k_no_symbol) {
      rejection.nomination = model::Nomination::to(nodes[i]);
      std::erase_if(rejection.victims, [&](const std::string& uid) { return !victims.insert(uid).second; });
    } else {
      rejection.drop_evictions();
    }
    outcome.members.emplace_back(std::move(rejection));
  }
  return outcome;
}

GroupOutcome GroupCycle::fail(const GroupRequest& request, Plan plan) {
  drop(request, plan);
  GroupOutcome outcome;
  outcome.kind = GroupOutcome::Kind::short_of;
  const Rejection cause = *rejection_of(plan.attempts[*plan.broken]);
  Rejection others;
  others.code = Code::error;
  others.message = "failed to schedule other pod from a pod group: " + cause.message;
  for (std::size_t i = 0; i < request.members.size(); ++i)
    outcome.members.emplace_back(i == *plan.broken ? cause : others);
  return outcome;
}

GroupOutcome GroupCycle::end_early(const GroupRequest& request, Plan plan) {
  drop(request, plan);
  GroupOutcome outcome;
  outcome.kind = plan.stopped == Stop::overdue ? GroupOutcome::Kind::overdue : GroupOutcome::Kind::given_up;
  Rejection rejection;
  rejection.nomination = {};
  const std::string far = fmt::format("{} of {} members had a node", plan.reserved, request.needed);
  rejection.message = plan.stopped == Stop::overdue
                          ? fmt::format("pod group {}: there was no plan after {} s: {}", request.key,
                                        limits_.limit_ns / 1'000'000'000, far)
                          : fmt::format("pod group {}: the plan was given up: {}", request.key, far);
  for (std::size_t i = 0; i < request.members.size(); ++i) outcome.members.emplace_back(rejection);
  return outcome;
}

GroupCycle::Order GroupCycle::hardest_first(const GroupRequest& request, const Plan& plan) {
  // The tightest resource is the one of which the members together ask for the largest share of what is free.
  std::map<Symbol, std::int64_t> asked;
  for (const GroupMember& member : request.members)
    for (const model::PodResource& resource : member.pod->requests->resources)
      if (std::int64_t& sum = asked[resource.name];
          resource.request > 0 && __builtin_add_overflow(sum, resource.request, &sum))
        sum = std::numeric_limits<std::int64_t>::max();
  Symbol tightest = k_no_symbol;
  double largest = 0;
  for (const auto& [name, amount] : asked) {
    const auto* const free = static_cast<const std::int64_t*>(
        snapshot_.column(snapshot_.resource_column(cache::ColumnKind::free, resources_.find(name))).data());
    double sum = 0;
    for (const cache::Slot slot : snapshot_.order()) sum += static_cast<double>(std::max<std::int64_t>(free[slot], 0));
    const double share = sum > 0 ? static_cast<double>(amount) / sum : std::numeric_limits<double>::max();
    if (tightest == k_no_symbol || share > largest) {
      tightest = name;
      largest = share;
    }
  }
  const auto request_of = [&](std::size_t i) {
    for (const model::PodResource& resource : request.members[i].pod->requests->resources)
      if (resource.name == tightest) return resource.request;
    return std::int64_t{0};
  };
  const auto feasible = [&](std::size_t i) -> std::uint32_t {
    return plan.attempts[i].placement ? plan.attempts[i].placement->feasible_nodes : 0;
  };
  Order order(request.members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (request_of(a) != request_of(b)) return request_of(a) > request_of(b);
    return feasible(a) < feasible(b);
  });
  return order;
}

}  // namespace berth::cycle
