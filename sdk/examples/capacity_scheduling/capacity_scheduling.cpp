// SPDX-License-Identifier: Apache-2.0
/// CapacityScheduling: namespaces share a cluster by ElasticQuotas, borrow what others do not use, and give it back.
///
/// Assumes: one ElasticQuota per namespace; of several the first by name counts. Requests of pods on nodes are what is used, of
///          whatever scheduler's pods, until a pod is gone.
/// Steps:   before the nodes are looked at, usage is brought up to date, and a pod is rejected that would take its namespace
///          beyond max, or all namespaces together beyond the sum of all min. When no node suits, victims are searched for: within
///          min a pod takes back from namespaces that are over theirs, beyond it only from its own namespace's lesser pods; a pod
///          without a quota takes from pods without one. While the host puts victims back, one after the other, the filter says
///          whether the quotas still bear it.
/// Ties:    as kube-scheduler's preemption; of equal nodes the earlier.
/// Source:  kubernetes-sigs/scheduler-plugins, pkg/capacityscheduling.
#include <berth/decoded_objects.hpp>
#include <berth/placed_pods.hpp>
#include <berth/plugin.hpp>
#include <berth/preemption/victim_order.hpp>

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "elastic_quota.hpp"

namespace capacity_scheduling {
namespace {

/// Of one attempt of a pod that has a quota. What-ifs work on copies.
struct State {
  Amounts request;       ///< of the pod
  Amounts in_namespace;  ///< and of pods nominated in its namespace that matter as much
  Amounts in_all;        ///< and of those nominated in namespaces that are within their min
  ElasticQuota own;      ///< usage as imagined
  Amounts used_by_all;
  bool has_removed = false, has_returned = false;  ///< pods are imagined away; some are back
};

class CapacityScheduling {
 public:
  using State = capacity_scheduling::State;
  static constexpr berth::Identity identity{
      .name = "CapacityScheduling",
      .version = "1.0.0",
      .summary = "Shares the cluster by ElasticQuotas, with preemption within and between them.",
      // Outside of what-ifs the filter lets all nodes pass.
      .filter_deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_USAGE};
  static constexpr char args_schema[] = R"({"type": "object", "additionalProperties": false})";
  static constexpr const char* services[] = {berth::Pods::id, berth::Preemption::id, berth::Objects::id,
                                             berth::Intern::id};
  static constexpr const char* watches[] = {"scheduling.x-k8s.io/v1alpha1/elasticquotas",
                                            "policy/v1/poddisruptionbudgets"};
  static constexpr const char* rbac[] = {"delete core/pods", "patch core/pods/status"};
  static constexpr berth::ReasonText reasons[] = {{"ElasticQuotas would be exceeded", "QuotaExceeded"}};
  static constexpr berth::Rejection rejection = berth::unschedulable(1);
  static constexpr berth::Interest interests[] = {berth::always(BERTH_KIND_POD, BERTH_ACTION_DELETE),
                                                  berth::always(BERTH_KIND_OWN_WATCH + 0, BERTH_ACTION_ALL)};

  explicit CapacityScheduling(berth::Setup& setup)
      : pods_(setup.service<berth::Pods>()),
        preemption_(setup.service<berth::Preemption>()),
        intern_(setup.service<berth::Intern>()),
        log_(setup.find_service<berth::Log>()),
        plain_{intern_("cpu"), intern_("memory"), intern_("ephemeral-storage")},
        objects_(setup.service<berth::Objects>(), watch(setup),
                 [this](const berth_object_v1& object) { return decode(object); }) {
    setup.pod_fields(BERTH_POD_NAMESPACE | BERTH_POD_PRIORITY | BERTH_POD_REQUESTS | BERTH_POD_PLACEMENT |
                     BERTH_POD_STATUS);
  }

  /// As long as victims of an earlier attempt are being evicted, another one would look for more.
  berth::Verdict pre_enqueue(const berth::QueuedPod& queued) const {
    if (!preemption_.evicting(queued.pod().uid())) return berth::Verdict::ok();
    return berth::Verdict::unresolvable("waiting for the preemption for this pod to be finished");
  }

  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<State>& out) {
    follow(cycle);
    const berth::Pod pod = cycle.pod();
    const auto quota = quotas_.find(pod.ns());
    if (quota == quotas_.end()) return berth::Verdict::skip();
    State& state = out.make();
    state.request = state.in_namespace = state.in_all = requests_of(pod);
    add_nominated(cycle, state);
    state.own = quota->second;
    for (const auto& [ns, each] : quotas_) state.used_by_all.add(each.used);
    if (state.own.is_over_max_with(state.in_namespace, plain_))
      return berth::Verdict::unschedulable("ElasticQuota " + std::string(intern_.text(pod.ns())) + " is more than Max");
    if (is_over_all_min(state, state.in_all))
      return berth::Verdict::unschedulable("total ElasticQuota used is more than min");
    return berth::Verdict::ok();
  }

  // The clone of a what-if follows pods that are imagined. One that is nominated is in the sums already.
  berth::Verdict pod_added(const berth::Cycle& cycle, berth::Pod other, berth::Slot) const {
    if (other.node_name() != 0) move(*cycle.state<State>(), cycle, other, 1);
    return berth::Verdict::ok();
  }
  berth::Verdict pod_removed(const berth::Cycle& cycle, berth::Pod other, berth::Slot) const {
    move(*cycle.state<State>(), cycle, other, -1);
    return berth::Verdict::ok();
  }

  berth::Mask filter(const berth::Cycle& cycle, berth::Rows) const {
    const State* const state = cycle.state<State>();
    if (state == nullptr || !state->has_removed) return berth::Mask::all();
    // Without all victims the pod alone has to fit; with one that is back those that are nominated count, too.
    const bool is_over =
        state->has_returned
            ? state->own.is_over_max_with(state->in_namespace, plain_) || is_over_all_min(*state, state->in_all)
            : state->own.is_over_max_with(state->request, plain_) || is_over_all_min(*state, state->request);
    return is_over ? berth::Mask::none() : berth::Mask::all();
  }

  berth::Verdict post_filter(const berth::Cycle& cycle, berth::PostFilter& point) {
    const berth_preemptor_v1 preemptor = preemption_.preemptor(cycle);
    if (preemptor.never != 0)
      return berth::Verdict::unschedulable("preemption: not eligible due to preemptionPolicy=Never.");
    if (waits_for_earlier_victims(cycle, point, preemptor))
      return berth::Verdict::unschedulable("preemption: not eligible due to a terminating pod on the nominated node.");

    berth_preemption_request_v1 request{};
    request.nodes = point.unschedulable().data();
    request.word_count = point.unschedulable().size();
    request.below_priority = INT64_MAX;
    request.prefix = berth::borrow("preemption: ");
    request.no_victims = berth::borrow("No victims found for preemptor pod");
    request.not_searched = berth::borrow("Preemption is not helpful for scheduling");
    std::map<berth::Slot, std::set<std::string, std::less<>>> by_node;
    const berth::Preemption::Found found =
        preemption_.search<berth::DefaultVictimOrder>(cycle, request, [&](berth::Pod pod, berth::Slot node) {
          const auto [at, is_new] = by_node.try_emplace(node);
          if (is_new) at->second = potential_victims(cycle, node);
          return at->second.contains(pod.uid());
        });
    if (!found.verdict.is_ok()) {
      if (found.verdict.code() != BERTH_UNSCHEDULABLE)
        return berth::Verdict::error("preemption: " + found.verdict.text());
      if (found.result.candidates == 0) point.clear_nomination();
      return found.verdict;
    }
    point.nominate(found.result.node);
    preemption_.victims(cycle, [&](std::string_view uid) { point.add_victim(uid); });
    return berth::Verdict::ok();
  }

 private:
  /// What the watch shows of an ElasticQuota.
  struct Spec {
    Limits min, max;
  };
  /// A pod on a node that may have to go.
  struct Placed {
    std::string uid;
    berth::Id ns = 0;
    std::int64_t priority = 0, start_ns = 0;
    Amounts request;
  };

  static std::uint32_t watch(berth::Setup& setup) {
    const berth_field_v1 fields[] = {{berth::borrow("spec.min"), BERTH_FIELD_JSON, 0},
                                     {berth::borrow("spec.max"), BERTH_FIELD_JSON, 0}};
    return setup.service<berth::Objects>().watch(watches[0], fields);
  }
  /// Null where an amount is none: the namespace has no quota then, and the log says why.
  std::shared_ptr<const Spec> decode(const berth_object_v1& object) const {
    const auto list = [&](int field) {
      return object.values[field].present != 0 ? berth::Json::parse(berth::view(object.values[field].text))
                                               : berth::Json();
    };
    try {
      return std::make_shared<const Spec>(
          Spec{ElasticQuota::limits_of(list(0), false, intern_), ElasticQuota::limits_of(list(1), true, intern_)});
    } catch (const berth::BadArgs& problem) {
      if (log_)
        log_->write(BERTH_LOG_ERROR, "ElasticQuota " + std::string(berth::view(object.ns)) + "/" +
                                         std::string(berth::view(object.name)) + ": " + problem.what());
      return nullptr;
    }
  }

  /// Quotas and what is used of them, as the attempt sees the cluster.
  void follow(const berth::Cycle& cycle) {
    if (objects_.refresh()) {
      std::map<berth::Id, ElasticQuota> now;
      objects_.each([&](const auto& key, const auto& spec) {
        now.try_emplace(intern_(key.first), ElasticQuota{spec->min, spec->max, {}});
      });
      bool is_same_set = now.size() == quotas_.size();
      for (auto& [ns, quota] : now) {
        const auto known = quotas_.find(ns);
        is_same_set = is_same_set && known != quotas_.end();
        if (known != quotas_.end()) quota.used = known->second.used;
      }
      quotas_ = std::move(now);
      if (!is_same_set) followed_.reset();
    }
    followed_.follow(
        pods_, cycle,
        [&] {
          for (auto& [ns, quota] : quotas_) quota.used = {};
        },
        [&](const berth::PlacedPod& placed, int by) {
          if (const auto quota = quotas_.find(placed.pod().ns()); quota != quotas_.end())
            quota->second.used.add(requests_of(placed.pod()), by);
        });
  }

  static Amounts requests_of(berth::Pod pod) {
    Amounts amounts;
    for (const berth_resource_v1& each : pod.resources()) amounts.add(each.name, each.request);
    return amounts;
  }
  bool is_over_all_min(const State& state, const Amounts& asked) const {
    Limits guaranteed;
    for (const auto& [ns, quota] : quotas_) guaranteed.named.add(quota.min.named);
    Amounts all = state.used_by_all;
    all.add(asked);
    return exceeds(all, {}, guaranteed, plain_);
  }

  void add_nominated(const berth::Cycle& cycle, State& state) const {
    const berth::Pod own = cycle.pod();
    bool is_itself_among = own.nominated_node() != 0;
    pods_.nominated(cycle, BERTH_NO_SLOT, [&](const berth::PlacedPod& nominated) {
      const berth::Pod pod = nominated.pod();
      const auto quota = quotas_.find(pod.ns());
      if (quota == quotas_.end()) return;
      const Amounts request = requests_of(pod);
      // The pod at hand is one of them if it is nominated. Which of several that are alike is left out does not matter.
      if (is_itself_among && pod.ns() == own.ns() && pod.priority() == own.priority() &&
          pod.nominated_node() == own.nominated_node() && request == state.request) {
        is_itself_among = false;
        return;
      }
      if (pod.ns() == own.ns() && pod.priority() >= own.priority()) {
        state.in_namespace.add(request);
        state.in_all.add(request);
      } else if (pod.ns() != own.ns() && !quota->second.is_over_min(plain_)) {
        state.in_all.add(request);
      }
    });
  }

  void move(State& state, const berth::Cycle& cycle, berth::Pod other, int by) const {
    (by > 0 ? state.has_returned : state.has_removed) = true;
    if (!quotas_.contains(other.ns())) return;
    const Amounts request = requests_of(other);
    state.used_by_all.add(request, by);
    if (other.ns() == cycle.pod().ns()) state.own.used.add(request, by);
  }

  /// An earlier attempt made room on a node, and the room is not free yet.
  bool waits_for_earlier_victims(const berth::Cycle& cycle, const berth::PostFilter& point,
                                 const berth_preemptor_v1& preemptor) const {
    if (preemptor.nominated_given == 0 || preemptor.nominated == BERTH_NO_SLOT) return false;
    const std::size_t word = preemptor.nominated / 64;
    if (word < point.unresolvable().size() && (point.unresolvable()[word] >> (preemptor.nominated % 64) & 1) != 0)
      return false;
    const berth::Id ns = cycle.pod().ns();
    const State* const state = cycle.state<State>();
    const bool is_within_min = state != nullptr && !quotas_.at(ns).is_over_min_with(state->in_namespace, plain_);
    bool waits = false;
    pods_.on_node(cycle, preemptor.nominated, [&](const berth::PlacedPod& placed) {
      if (!placed.is_terminating()) return true;
      const auto quota = quotas_.find(placed.pod().ns());
      const bool is_lesser = placed.pod().priority() < preemptor.priority;
      if (state == nullptr) {
        waits = quota == quotas_.end() && is_lesser;
      } else if (quota != quotas_.end()) {
        waits = placed.pod().ns() == ns ? is_lesser : is_within_min && quota->second.is_over_min(plain_);
      }
      return !waits;
    });
    return waits;
  }

  /// Uids of the pods on a node that may have to go, before it is known which of them do.
  std::set<std::string, std::less<>> potential_victims(const berth::Cycle& cycle, berth::Slot node) const {
    const State* const state = cycle.state<State>();
    const berth::Pod own = cycle.pod();
    std::vector<Placed> placed;
    pods_.on_node(cycle, node, [&](const berth::PlacedPod& each) {
      const berth::Pod pod = each.pod();
      if (quotas_.contains(pod.ns()) != (state != nullptr)) return;
      placed.push_back({std::string(pod.uid()), pod.ns(), pod.priority(),
                        pod.start_ns() == 0 ? INT64_MAX : pod.start_ns(), requests_of(pod)});
    });
    // The least important first: the more important ones stay once their namespace is within its min.
    std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
      return std::tuple(a.priority, -a.start_ns, std::string_view(a.uid)) <
             std::tuple(b.priority, -b.start_ns, std::string_view(b.uid));
    });
    const bool takes_from_own = state == nullptr || quotas_.at(own.ns()).is_over_min_with(state->in_namespace, plain_);
    std::map<berth::Id, ElasticQuota> as_imagined;
    std::set<std::string, std::less<>> uids;
    for (Placed& each : placed) {
      if (takes_from_own) {
        if ((state == nullptr || each.ns == own.ns()) && each.priority < own.priority())
          uids.insert(std::move(each.uid));
        continue;
      }
      if (each.ns == own.ns()) continue;
      ElasticQuota& quota = as_imagined.try_emplace(each.ns, quotas_.at(each.ns)).first->second;
      if (!quota.is_over_min(plain_)) continue;
      quota.used.add(each.request, -1);
      uids.insert(std::move(each.uid));
    }
    return uids;
  }

  berth::Pods pods_;
  berth::Preemption preemption_;
  berth::Intern intern_;
  std::optional<berth::Log> log_;
  PlainResources plain_;
  berth::DecodedObjects<Spec> objects_;
  std::map<berth::Id, ElasticQuota> quotas_;  ///< by namespace, whose names are interned for good
  berth::PlacedPodsFollowed followed_;
};

}  // namespace
}  // namespace capacity_scheduling

BERTH_PLUGIN(capacity_scheduling::CapacityScheduling)
