// SPDX-License-Identifier: Apache-2.0
// DynamicResources: a pod fits where its claims have devices, or get them; they are allocated and reserved before the pod is
// bound.
// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
#include <berth/debug_pages.hpp>
#include <berth/gates.hpp>
#include <berth/groups.hpp>
#include <berth/plugin.hpp>
#include <berth/shared.hpp>

#include "../shared/devices/objects/go_duration.hpp"
#include "claim_binding.hpp"
#include "claims_of_pod.hpp"
#include "extended_pod.hpp"

namespace {

using namespace devices;

enum Said : std::uint32_t {
  k_cannot_allocate = 1,
  k_invalid_pools,
  k_not_available,
  k_nothing_to_deallocate,
  k_deallocated,
  k_still_not_schedulable,
  k_cannot_schedule_extended,
  k_cannot_fit,
  k_claim_deleted
};

class DynamicResources {
 public:
  using State = CycleState;

  static constexpr berth::Identity identity{
      .name = "DynamicResources",
      .version = "1.0.0",
      .summary = "Places pods where their claims have devices or get them, and reserves these first.",
      .deps = BERTH_DEP_POD_SPEC | BERTH_DEP_POD_IDENTITY | BERTH_DEP_NODE_STATIC | BERTH_DEP_OBJECTS,
      .filter_flags = BERTH_FILTER_RECORDS,
      .prepare_flags = BERTH_PREPARE_SKIP_SCORES_ZERO};
  static constexpr const char args_schema[] = R"({
    "type": "object",
    "additionalProperties": false,
    "properties": {
      "filterTimeout": {
        "type": "string", "format": "go-duration", "default": "10s", "formatMinimum": "0s",
        "errorMessage": "must be zero or positive",
        "description": "Longest time that the search for devices on one node may take, and a third of what all nodes together may take in one attempt; 0 is no limit."
      },
      "bindingTimeout": {
        "type": "string", "format": "go-duration", "default": "600s", "formatMinimum": "1s",
        "errorMessage": "must be at least 1 second",
        "description": "Longest time to wait for the binding conditions of a device."
      }
    }
  })";
  static constexpr berth::ReasonText reasons[] = {{"cannot allocate all claims", "DevicesNotAllocatable"},
                                                  {"invalid resource pools were encountered", "InvalidResourcePools"},
                                                  {"resourceclaim not available on the node", "ClaimNotAvailable"},
                                                  {"no new claims to deallocate", "NothingToDeallocate"},
                                                  {"deallocation of ResourceClaim completed", "ClaimDeallocated"},
                                                  {"still not schedulable", "StillNotSchedulable"},
                                                  {"cannot schedule extended resource claim", "ExtendedClaimLeft"},
                                                  {"cannot fit resource", "ResourceNotListed"},
                                                  {"deletion of ResourceClaim completed", "ClaimDeleted"}};
  static constexpr berth::Normalize normalization = berth::Normalize::max;
  static constexpr const char* services[] = {
      berth::Intern::id,       berth::Objects::id,    berth::Log::id,    berth::Sets::id,  berth::Assume::id,
      berth::ObjectWrites::id, berth::Shared::id,     berth::Events::id, berth::Clock::id, berth::Executor::id,
      berth::QueueControl::id, berth::DebugPages::id, berth::Groups::id, berth::Gates::id};
  static constexpr const char* watches[] = {k_claims, k_slices, k_classes};
  static constexpr const char* rbac[] = {
      "create resource.k8s.io/resourceclaims", "delete resource.k8s.io/resourceclaims", "patch core/pods/status",
      "get resource.k8s.io/resourceclaims", "update resource.k8s.io/resourceclaims",
      "update resource.k8s.io/resourceclaims/status", "patch resource.k8s.io/resourceclaims/status",
      // Asked of every write that changes an allocation or a reservation.
      "update resource.k8s.io/resourceclaims/binding", "patch resource.k8s.io/resourceclaims/binding"};
  static constexpr std::uint32_t k_any_change = BERTH_ACTION_ADD | BERTH_ACTION_UPDATE;
  static constexpr berth::Interest interests[] = {
      berth::always(BERTH_KIND_NODE,
                    BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL | BERTH_ACTION_UPDATE_NODE_ALLOCATABLE),
      berth::hinted(BERTH_KIND_RESOURCE_CLAIM, k_any_change),
      berth::hinted(BERTH_KIND_POD, BERTH_ACTION_UPDATE_POD_GENERATED_RESOURCE_CLAIM),
      berth::always(BERTH_KIND_DEVICE_CLASS, k_any_change), berth::always(BERTH_KIND_RESOURCE_SLICE, k_any_change)};

  explicit DynamicResources(berth::Setup& setup)
      : cluster_(&setup.service<berth::Shared>().get<DeviceCluster>(setup, "devices")),
        intern_(setup.service<berth::Intern>()),
        queue_(setup.service<berth::QueueControl>()),
        groups_(setup.find_service<berth::Groups>()),
        has_alternatives_(is_on(setup, "DRAPrioritizedList")),
        binding_{*cluster_,
                 setup.service<berth::ObjectWrites>(),
                 setup.service<berth::Assume>(),
                 setup.service<berth::Clock>(),
                 setup.service<berth::Executor>(),
                 setup.service<berth::Events>(),
                 setup.service<berth::Log>(),
                 ClaimMetrics(setup.service<berth::Metrics>()),
                 duration_ns(setup.args()["bindingTimeout"].string_or("bindingTimeout", "600s"))},
        search_(*cluster_, binding_.clock,
                duration_ns(setup.args()["filterTimeout"].string_or("filterTimeout", "10s"))),
        extended_pods_(*cluster_, intern_, setup.service<berth::NodeColumns>()),
        names_(setup.name()),
        label_sets_(setup.label_set()),
        facts_(std::make_unique<NodeFacts>(intern_, setup.service<berth::Sets>())) {
    // The same declarations as the shared cluster's: this instance's hints see these objects.
    setup.service<berth::Objects>().watch(k_claims, k_object_fields);
    setup.service<berth::Objects>().watch(k_slices, std::span(k_object_fields).first(2));
    setup.service<berth::Objects>().watch(k_classes, std::span(k_object_fields).first(2));
    setup.pod_fields(BERTH_POD_CLAIMS | BERTH_POD_REQUESTS);
    if (!setup.service<berth::DebugPages>().offer("devices", *cluster_))
      binding_.log.write(BERTH_LOG_WARN, "another plugin has the page /debug/devices; this one is not shown");
  }

  berth::Verdict pre_enqueue(const berth::QueuedPod& queued) const {
    if (queued.pod().claims().empty()) return berth::Verdict::ok();
    cluster_->refresh();
    std::vector<ClaimPtr> claims;
    std::string missing = find_claims(*cluster_, intern_.text(queued.pod().ns()), queued.pod(), claims);
    return missing.empty() ? berth::Verdict::ok() : berth::Verdict::unresolvable(std::move(missing));
  }

  bool hint(const berth::Event& event, berth::Pod waiting) const {
    if (event.about_pod()) {
      const std::optional<berth::Pod> now = event.new_pod();
      return !now || (now->uid() == waiting.uid() && has_its_claims(*now));
    }
    const berth_object_v1* const now = event.new_object();
    if (now == nullptr) return true;
    if (!has_its_claims(waiting)) return false;
    const berth_object_v1* const before = event.old_object();
    const ClaimPtr is = read(*now);
    const ClaimPtr was = before == nullptr ? nullptr : read(*before);
    if (was != nullptr && was->allocation != nullptr && is->allocation == nullptr) return true;  // devices are free now
    std::vector<ClaimPtr> claims;
    find_claims(*cluster_, intern_.text(waiting.ns()), waiting, claims);
    const bool concerns =
        std::any_of(claims.begin(), claims.end(), [&](const ClaimPtr& c) { return c->uid == is->uid; });
    return concerns && (was == nullptr || was->status != is->status);
  }

  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<State>& out) {
    State& state = out.make();
    if (cycle.pod().claims().empty() && cycle.pod().container_names().empty()) return berth::Verdict::skip();
    cluster_->refresh();
    std::vector<ClaimPtr> claims;
    if (std::string missing = find_claims(*cluster_, intern_.text(cycle.pod().ns()), cycle.pod(), claims);
        !missing.empty())
      return berth::Verdict::unresolvable(std::move(missing));
    std::unique_ptr<ExtendedState> extended = extended_pods_.state_of(cycle);
    if (claims.empty() && extended == nullptr) return berth::Verdict::skip();
    const std::size_t user_claims = claims.size();
    if (extended != nullptr) claims.push_back(extended_pods_.claim_of(cycle.pod()));
    state.group = groups_ ? groups_->planned() : std::string_view();
    std::vector<std::optional<DeviceCluster::Pending>> shared(claims.size());
    for (std::size_t i = 0; i < claims.size(); ++i) {
      const ClaimObject& claim = *claims[i];
      if (claim.allocation == nullptr) shared[i] = cluster_->pending(claim.uid);
      berth::Verdict verdict = claim.allocation != nullptr ? check_allocated(*claim.allocation)
                               : shared[i]                 ? check_pending(claim, *shared[i], state.group)
                                                           : berth::Verdict::ok();
      // What a claim for extended resources asks for is the node's affair; one that is left over is deleted after filter.
      if (verdict.is_ok() && claim.allocation == nullptr && i < user_claims) verdict = check_requests(claim);
      if (!verdict.is_ok()) return verdict;
    }
    facts_->prepare(cycle.slot_count());
    std::vector<std::string_view> specs;
    for (ClaimPtr& claim : claims) {
      const bool is_extended = state.claims.size() == user_claims;
      std::optional<DeviceCluster::Pending>& pending = shared[state.claims.size()];
      CycleClaim& made = state.claims.emplace_back();
      made.is_extended = is_extended;
      made.in_flight_uid = claim->uid;
      made.object = std::move(claim);
      if (pending) {
        made.is_shared = true;
        made.publish = std::move(pending->allocation);
        made.publish_json = std::move(pending->json);
      }
      const ClaimObject& object = *made.object;
      const AllocationObject* const allocation = made.allocation();
      state.allocates = state.allocates || allocation == nullptr;
      if (allocation != nullptr) state.score_of_allocated += preference_of(*object.wanted, *allocation);
      const auto& requests = object.wanted->requests;
      state.scores = state.scores ||
                     (has_alternatives_ && std::any_of(requests.begin(), requests.end(), [](const dra::Request& each) {
                        return !each.first_available.empty();
                      }));
      if (allocation == nullptr && !is_extended) {
        state.wanted.push_back(object.wanted);
        specs.push_back(object.spec);
      }
    }
    if (extended != nullptr) extended->by_slot.resize(cycle.slot_count());
    state.extended = std::move(extended);
    if (state.allocates) {
      state.devices = cluster_->snapshot();
      state.allocator = std::make_unique<dra::Allocator>(state.devices.state);
      binding_.metrics.set_kept_bytes(search_.begin(state.devices));
    }
    if (!specs.empty()) {
      state.shape = search_.shape_of(specs, state.wanted);
      state.shape->prepare(cycle.slot_count());
      binding_.metrics.set_selector_bytes(cluster_->programs().bytes());
    }
    state.by_slot.resize(cycle.slot_count());
    state.unavailable = std::make_unique<std::atomic<bool>[]>(state.claims.size());
    state.is_empty = false;
    return berth::Verdict::ok();
  }

  void filter(const berth::Cycle& cycle, berth::FilterBlock& nodes) const {
    State& state = need_state(cycle);
    if (state.is_empty) return;
    const berth::Id* const names = nodes[names_];
    const berth::Id* const label_sets = nodes[label_sets_];
    for (std::uint32_t w = 0; w < nodes.words(); ++w)
      berth::each_bit(nodes.open(w).bits(), [&](std::uint32_t bit) {
        const std::uint32_t row = w * 64 + bit;
        const NodeFacts::Entry& facts =
            facts_->of(nodes.slot(row), names[row], label_sets[row], state.devices.inventory);
        try {
          const std::uint32_t reason = judge(state, nodes.slot(row), facts, cycle.deadline_ns());
          if (reason == 0) return;
          nodes.reject_row(row, berth::unresolvable(reason));
          if (nodes.wants_details() && (reason == k_cannot_allocate || reason == k_invalid_pools))
            add_details(state, facts, cycle.deadline_ns(), row, nodes);
        } catch (const berth::Failure& failure) {
          nodes.fail_row(row, failure.what());
        }
      });
  }
  std::uint64_t filter_budget_ns() const noexcept { return search_.budget_ns(); }

  berth::Verdict post_filter(const berth::Cycle& cycle, berth::PostFilter&) const {
    const State* const state = cycle.state<State>();
    if (state == nullptr) return berth::Verdict::error("not found");
    if (state->is_empty) return berth::Verdict::unschedulable(berth::Reason{k_nothing_to_deallocate});
    for (std::size_t i = 0; i < state->claims.size(); ++i) {
      const ClaimObject& claim = *state->claims[i].object;
      if (!state->unavailable[i].load(std::memory_order_relaxed) || state->claims[i].is_shared) continue;
      if (state->claims[i].is_extended) break;
      const std::size_t consumers = claim.reserved_for.size();
      if (consumers > 1 || (consumers == 1 && !claim.is_reserved_for(cycle.pod().uid()))) continue;
      return deallocate(claim, std::string(cycle.pod().uid()));
    }
    if (state->extended != nullptr && !state->claims.back().is_in_memory())
      return delete_left(state->claims.back().object, std::string(cycle.pod().uid()));
    return berth::Verdict::unschedulable(berth::Reason{k_still_not_schedulable});
  }

  void score(const berth::Cycle& cycle, berth::ScoreBlock& block) const {
    const State& state = need_state(cycle);
    for (std::uint32_t row = 0; row < block.rows(); ++row)
      block(row) = state.is_empty || !state.scores ? 0 : score_of(state, state.by_slot[block.slot(row)].get());
  }

  berth::Verdict reserve(const berth::Cycle& cycle, berth::Slot node) const {
    State* const state = cycle.state<State>();
    if (state == nullptr) return berth::Verdict::error("not found");
    if (state->is_empty) return berth::Verdict::ok();
    for (CycleClaim& claim : state->claims)
      if (claim.is_shared) signal(claim, state->group);
    if (!state->allocates) return berth::Verdict::ok();
    const dra::Allocation* const found = state->by_slot[node].get();
    if (found == nullptr)  // a node that has what the pod asks for without devices
      return state->wanted.empty() ? berth::Verdict::ok()
                                   : berth::Verdict::error("claim allocation not found for node");
    if (state->extended != nullptr) state->chosen = state->extended->by_slot[node];
    // From here on the devices are the next cycle's to change.
    state->allocator = nullptr;
    state->devices.state = nullptr;
    std::size_t next = 0;
    for (CycleClaim& claim : state->claims) {
      if (claim.allocation() != nullptr) continue;
      const dra::ClaimAllocation allocation = found->describe(next++, [this] { return cluster_->ids().next(); });
      claim.publish = allocation_object(allocation);
      claim.publish_json = allocation_json(allocation);
      signal(claim, state->group);
    }
    // The pod may wait for others of its group, and what was found on other nodes is of no use to it.
    state->by_slot = {};
    if (state->extended != nullptr) state->extended->by_slot = {};
    return berth::Verdict::ok();
  }

  void unreserve(const berth::Cycle& cycle, berth::Slot) const {
    State* const state = cycle.state<State>();
    if (state != nullptr && !state->is_empty) release_claims(binding_, *state, name_of(cycle.pod()));
  }

  berth::Verdict pre_bind_check(const berth::Cycle& cycle, berth::Slot, berth::PreBindFlags& flags) const {
    const State* const state = cycle.state<State>();
    if (state == nullptr) return berth::Verdict::error("not found");
    if (state->is_empty) return berth::Verdict::skip();
    flags.parallel();
    return berth::Verdict::ok();
  }

  berth::Verdict pre_bind(const berth::Cycle& cycle, berth::BindCall call) const {
    State* const state = cycle.state<State>();
    if (state == nullptr) return berth::Verdict::error("not found");
    if (state->is_empty) return berth::Verdict::ok();
    bind_claims(binding_, *state, name_of(cycle.pod()), call);
    return berth::Verdict::async();
  }

 private:
  static State& need_state(const berth::Cycle& cycle) {
    State* const state = cycle.state<State>();
    if (state == nullptr) throw berth::Failure("not found");
    return *state;
  }
  static ClaimPtr read(const berth_object_v1& object) {
    const auto text = [&](std::size_t i) {
      return object.values[i].present != 0 ? berth::view(object.values[i].text) : std::string_view();
    };
    return read_claim(text(0), text(1), text(2));
  }
  PodName name_of(berth::Pod pod) const {
    return {std::string(intern_.text(pod.ns())), std::string(pod.name()), std::string(pod.uid())};
  }
  bool has_its_claims(berth::Pod pod) const {
    cluster_->refresh();
    std::vector<ClaimPtr> claims;
    return find_claims(*cluster_, intern_.text(pod.ns()), pod, claims).empty();
  }

  static bool is_on(berth::Setup& setup, std::string_view gate) {
    const std::optional<berth::Gates> gates = setup.find_service<berth::Gates>();
    return !gates || gates->is_on(gate).value_or(true);
  }
  void signal(CycleClaim& claim, const std::string& group) const {
    claim.is_signalled = true;
    cluster_->signal(claim.in_flight_uid, {claim.publish, claim.publish_json, group});
  }

  static berth::Verdict check_allocated(const AllocationObject& allocation) {
    const dra::NodeMatcher* const nodes = allocation.matcher.get();
    return nodes == nullptr || nodes->error().empty() ? berth::Verdict::ok() : berth::Verdict::error(nodes->error());
  }

  /// Pods that are placed together take what was decided for the first of them.
  static berth::Verdict check_pending(const ClaimObject& claim, const DeviceCluster::Pending& pending,
                                      const std::string& group) {
    if (!group.empty() && pending.group == group) return check_allocated(*pending.allocation);
    return berth::Verdict::unresolvable("resource claim " + claim.key() + " is in the process of being allocated");
  }

  berth::Verdict check_requests(const ClaimObject& claim) const {
    for (const dra::Request& request : claim.wanted->requests) {
      if (request.exactly) {
        const berth::Verdict verdict = check_class(*request.exactly, request.name);
        if (!verdict.is_ok()) return verdict;
        continue;
      }
      if (request.first_available.empty())
        return berth::Verdict::unresolvable("resource claim " + claim.key() + ", request " + request.name +
                                            ": unknown request type");
      if (!has_alternatives_)
        return berth::Verdict::unresolvable("resource claim " + claim.key() + ", request " + request.name +
                                            ": has subrequests, but the DRAPrioritizedList feature is disabled");
      for (const dra::DeviceRequest& sub : request.first_available) {
        const berth::Verdict verdict = check_class(sub, request.name + '/' + sub.name);
        if (!verdict.is_ok()) return verdict;
      }
    }
    return berth::Verdict::ok();
  }

  berth::Verdict check_class(const dra::DeviceRequest& wanted, const std::string& name) const {
    if (wanted.class_name.empty()) return berth::Verdict::error("request " + name + ": unsupported request type");
    if (cluster_->device_class(wanted.class_name) != nullptr) return berth::Verdict::ok();
    return berth::Verdict::unresolvable("request " + name + ": device class " + wanted.class_name + " does not exist");
  }

  /// 0, or why the node does not suit. Throws where the pod's attempt ends.
  std::uint32_t judge(State& state, berth::Slot slot, const NodeFacts::Entry& facts, std::int64_t deadline_ns) const {
    const ExtendedCopy* copy = nullptr;
    if (state.extended != nullptr) {
      const ExtendedPods::Copy its = extended_pods_.copy_for(state, slot, search_);
      if (its.refusal == ExtendedPods::Copy::Refusal::claim_has_requests) return k_cannot_schedule_extended;
      if (its.refusal == ExtendedPods::Copy::Refusal::not_listed) return k_cannot_fit;
      copy = its.copy;
      if (copy == nullptr && state.claims.size() == 1) return 0;
    }
    std::shared_ptr<const dra::Allocation> found;
    const auto& shape = copy == nullptr ? state.shape : copy->shape;
    if (shape != nullptr) {
      const auto& wanted = copy == nullptr ? state.wanted : copy->wanted;
      const dra::Outcome outcome = search_.find(state, slot, *shape, wanted, facts, deadline_ns);
      switch (outcome.kind) {
        case dra::Outcome::Kind::allocated:
          found = outcome.allocation;
          break;
        case dra::Outcome::Kind::no_solution:
          return k_cannot_allocate;
        case dra::Outcome::Kind::invalid_pools:
          return k_invalid_pools;
        case dra::Outcome::Kind::deadline_exceeded:
        case dra::Outcome::Kind::gave_up:
        case dra::Outcome::Kind::cancelled:
          throw berth::Failure("node " + facts.node.name + ": timed out trying to allocate devices");
        case dra::Outcome::Kind::failed:
          throw berth::Failure(outcome.error);
      }
    }
    bool is_available = true;
    for (std::size_t i = 0; i < state.claims.size(); ++i) {
      if (is_usable(state.claims[i], facts)) continue;
      is_available = false;
      state.unavailable[i].store(true, std::memory_order_relaxed);
    }
    if (!is_available) return k_not_available;
    state.by_slot[slot] = std::move(found);
    if (state.extended != nullptr) state.extended->by_slot[slot] = copy;
    return 0;
  }

  void add_details(State& state, const NodeFacts::Entry& facts, std::int64_t deadline_ns, std::uint32_t row,
                   berth::FilterBlock& nodes) const {
    const ExtendedCopy* const copy =
        state.extended == nullptr ? nullptr : extended_pods_.copy_for(state, nodes.slot(row), search_).copy;
    for (const dra::Refusal& refusal :
         search_.diagnose(state, copy == nullptr ? state.wanted : copy->wanted, facts, deadline_ns))
      nodes.add_detail(row, refusal.what, refusal.devices);
  }

  bool is_usable(const CycleClaim& claim, const NodeFacts::Entry& facts) const {
    const AllocationObject* const allocation = claim.allocation();
    if (allocation == nullptr) return true;
    if (allocation->matcher != nullptr && !allocation->matcher->matches(*facts.labels)) return false;
    if (claim.is_shared) return true;  // its devices are not being prepared yet
    const Readiness readiness = readiness_of(*claim.object);
    if (readiness.kind == Readiness::Kind::failed) return false;
    return readiness.kind == Readiness::Kind::ready ||
           !is_overdue(*allocation, binding_.clock.wall_ns(), binding_.binding_timeout_ns);
  }

  /// The alternatives of firstAvailable that were taken: the earlier in its list, the better.
  static std::int64_t score_of(const State& state, const dra::Allocation* found) {
    // Null: nothing was allocated for the node in this cycle.
    return found == nullptr ? 0 : state.score_of_allocated + found->preference();
  }
  static std::int64_t preference_of(const dra::Claim& wanted, const AllocationObject& allocation) {
    std::int64_t sum = 0;
    for (const dra::Request& request : wanted.requests)
      for (std::size_t i = 0; i < request.first_available.size(); ++i) {
        const std::string name = request.name + '/' + request.first_available[i].name;
        if (std::any_of(allocation.results.begin(), allocation.results.end(),
                        [&](const ResultObject& each) { return each.request == name; }))
          sum += 8 - static_cast<std::int64_t>(i);
      }
    return sum;
  }

  static void activate_later(berth::Executor executor, berth::QueueControl queue, const std::string& pod_uid) {
    struct Waiting {
      berth::QueueControl queue;
      std::string pod_uid;
    };
    auto waiting = std::make_unique<Waiting>(Waiting{queue, pod_uid});
    const berth_code code = executor.after(
        k_retry_pause_ms,
        [](void* arg) {
          const std::unique_ptr<Waiting> due(static_cast<Waiting*>(arg));
          due->queue.activate(due->pod_uid);
        },
        waiting.get());
    if (code == BERTH_OK) waiting.release();
  }

  /// A write that is not waited for: its coming back tries the pod again, and so does its failure, after a pause: a server that
  /// refuses each write is not asked as fast as it answers. `begin` gets what is to be called with the error, or with an empty text.
  template <class Begin>
  berth::Verdict give_up(std::string what, std::string pod_uid, Said said, Begin&& begin) const {
    struct Answer {
      guarded::Mutex mutex;
      bool has_returned GUARDED_BY(mutex) = false;
      std::optional<std::string> error GUARDED_BY(mutex);
    };
    const auto answer = std::make_shared<Answer>();
    begin([answer, queue = queue_, executor = binding_.executor, log = binding_.log, what = std::move(what),
           uid = std::move(pod_uid)](const std::string& error) {
      if (error.empty()) return;
      {
        const guarded::Lock lock(answer->mutex);
        answer->error = error;
        if (!answer->has_returned) return;
      }
      log.write(BERTH_LOG_ERROR, what + ": " + error);
      activate_later(executor, queue, uid);
    });
    const guarded::Lock lock(answer->mutex);
    answer->has_returned = true;
    if (answer->error) return berth::Verdict::error(*answer->error);
    return berth::Verdict::unschedulable(berth::Reason{said});
  }

  berth::Verdict deallocate(const ClaimObject& claim, std::string pod_uid) const {
    return give_up("claim " + claim.key() + " is not deallocated", std::move(pod_uid), k_deallocated, [&](auto ended) {
      binding_.writes.update(
          {k_claims, claim.ns, claim.name, "status"}, claim.json(claim.metadata, cleared_status(claim)),
          [ended](const berth::ObjectAnswer& said) { ended(said.is_ok() ? std::string() : said.text); });
    });
  }

  berth::Verdict delete_left(const ClaimPtr& claim, std::string pod_uid) const {
    return give_up("claim " + claim->key() + " is not deleted", std::move(pod_uid), k_claim_deleted,
                   [&](auto ended) { delete_claim(binding_.writes, claim, ended); });
  }

  DeviceCluster* cluster_;
  berth::Intern intern_;
  berth::QueueControl queue_;
  const std::optional<berth::Groups> groups_;
  const bool has_alternatives_;
  BindingServices binding_;
  static constexpr std::uint32_t k_retry_pause_ms = 1000;  // the queue's first backoff
  mutable DeviceSearch search_;
  const ExtendedPods extended_pods_;
  berth::IdColumn names_, label_sets_;
  std::unique_ptr<NodeFacts> facts_;
};

}  // namespace

BERTH_PLUGIN(DynamicResources)
