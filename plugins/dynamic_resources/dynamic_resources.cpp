// SPDX-License-Identifier: Apache-2.0
// DynamicResources: a pod fits where its claims have devices, or get them; they are allocated and reserved before the pod is
// bound.
// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
#include <berth/plugin.hpp>
#include <berth/shared.hpp>

#include "claim_binding.hpp"
#include "claims_of_pod.hpp"
#include "go_duration.hpp"
#include "node_facts.hpp"

namespace {

using namespace dynamic_resources;

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
      .filter_flags = BERTH_FILTER_COSTLY | BERTH_FILTER_RECORDS,
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
  static constexpr const char* services[] = {berth::Intern::id,   berth::Objects::id,     berth::Log::id,
                                             berth::Sets::id,     berth::Assume::id,      berth::ObjectWrites::id,
                                             berth::Shared::id,   berth::Events::id,      berth::Clock::id,
                                             berth::Executor::id, berth::QueueControl::id};
  static constexpr const char* watches[] = {k_claims, k_slices, k_classes};
  static constexpr const char* rbac[] = {"create resource.k8s.io/resourceclaims",
                                         "delete resource.k8s.io/resourceclaims",
                                         "patch core/pods/status",
                                         "get resource.k8s.io/resourceclaims",
                                         "update resource.k8s.io/resourceclaims",
                                         "update resource.k8s.io/resourceclaims/status",
                                         "patch resource.k8s.io/resourceclaims/status"};
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
        binding_{*cluster_,
                 setup.service<berth::ObjectWrites>(),
                 setup.service<berth::Assume>(),
                 setup.service<berth::Clock>(),
                 setup.service<berth::Executor>(),
                 setup.service<berth::Events>(),
                 setup.service<berth::Log>(),
                 ClaimMetrics(setup.service<berth::Metrics>()),
                 duration_ns(setup.args()["bindingTimeout"].string_or("bindingTimeout", "600s"))},
        filter_timeout_ns_(
            std::min(duration_ns(setup.args()["filterTimeout"].string_or("filterTimeout", "10s")), k_timeout_ns_max)),
        columns_(setup.service<berth::NodeColumns>()),
        names_(setup.name()),
        label_sets_(setup.label_set()),
        facts_(std::make_unique<NodeFacts>(intern_, setup.service<berth::Sets>())) {
    // The same declarations as the shared cluster's: this instance's hints see these objects.
    setup.service<berth::Objects>().watch(k_claims, k_object_fields);
    setup.service<berth::Objects>().watch(k_slices, std::span(k_object_fields).first(2));
    setup.service<berth::Objects>().watch(k_classes, std::span(k_object_fields).first(2));
    setup.pod_fields(BERTH_POD_CLAIMS | BERTH_POD_REQUESTS);
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
    std::unique_ptr<ExtendedState> extended = extended_of(cycle);
    if (claims.empty() && extended == nullptr) return berth::Verdict::skip();
    const std::size_t user_claims = claims.size();
    if (extended != nullptr) claims.push_back(extended_claim_of(cycle.pod()));
    for (const ClaimPtr& claim : claims) {
      const berth::Verdict verdict = claim->allocation == nullptr ? check_unallocated(*claim) : check_allocated(*claim);
      if (!verdict.is_ok()) return verdict;
    }
    facts_->prepare(cycle.slot_count());
    std::vector<std::string_view> specs;
    for (ClaimPtr& claim : claims) {
      const bool is_extended = state.claims.size() == user_claims;
      state.allocates = state.allocates || claim->allocation == nullptr;
      if (claim->allocation != nullptr) state.score_of_allocated += preference_of(*claim);
      const auto& requests = claim->wanted->requests;
      state.scores = state.scores || std::any_of(requests.begin(), requests.end(), [](const dra::Request& each) {
                       return !each.first_available.empty();
                     });
      if (claim->allocation == nullptr && !is_extended) {
        state.wanted.push_back(claim->wanted);
        specs.push_back(claim->spec);
      }
      std::string uid = claim->uid;
      state.claims.push_back({std::move(claim), nullptr, {}, false, is_extended, std::move(uid)});
    }
    if (extended != nullptr) extended->by_slot.resize(cycle.slot_count());
    state.extended = std::move(extended);
    if (state.allocates) {
      state.devices = cluster_->snapshot();
      state.allocator = std::make_unique<dra::Allocator>(state.devices.state);
      shapes_.use(state.devices.inventory);
      binding_.metrics.set_kept_bytes(shapes_.bytes());
    }
    if (!specs.empty()) {
      state.shape = shape_of(specs, state.wanted);
      state.shape->prepare(cycle.slot_count());
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
        if (const std::uint32_t reason = judge(state, nodes.slot(row), facts); reason != 0)
          nodes.reject_row(row, berth::unresolvable(reason));
      });
  }

  berth::Verdict post_filter(const berth::Cycle& cycle, berth::PostFilter&) const {
    const State* const state = cycle.state<State>();
    if (state == nullptr) return berth::Verdict::error("not found");
    if (state->is_empty) return berth::Verdict::unschedulable(berth::Reason{k_nothing_to_deallocate});
    for (std::size_t i = 0; i < state->claims.size(); ++i) {
      const ClaimObject& claim = *state->claims[i].object;
      if (!state->unavailable[i].load(std::memory_order_relaxed)) continue;
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
    if (state->is_empty || !state->allocates) return berth::Verdict::ok();
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
      if (claim.object->allocation != nullptr) continue;
      const dra::ClaimAllocation allocation = found->describe(next++, [this] { return cluster_->ids().next(); });
      claim.publish = allocation_object(allocation);
      claim.publish_json = allocation_json(allocation);
      claim.is_signalled = true;
      cluster_->signal(claim.in_flight_uid, claim.publish);
    }
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

  static berth::Verdict check_allocated(const ClaimObject& claim) {
    const dra::NodeMatcher* const nodes = claim.allocation->matcher.get();
    return nodes == nullptr || nodes->error().empty() ? berth::Verdict::ok() : berth::Verdict::error(nodes->error());
  }

  berth::Verdict check_unallocated(const ClaimObject& claim) const {
    if (cluster_->is_in_flight(claim.uid))
      return berth::Verdict::unresolvable("resource claim " + claim.key() + " is in the process of being allocated");
    for (const dra::Request& request : claim.wanted->requests) {
      if (request.exactly) {
        const berth::Verdict verdict = check_class(*request.exactly, request.name);
        if (!verdict.is_ok()) return verdict;
        continue;
      }
      if (request.first_available.empty())
        return berth::Verdict::unresolvable("resource claim " + claim.key() + ", request " + request.name +
                                            ": unknown request type");
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

  /// What devices may stand for among the pod's resources; null: nothing.
  std::unique_ptr<ExtendedState> extended_of(const berth::Cycle& cycle) const {
    const berth::Pod pod = cycle.pod();
    if (pod.container_names().empty() || !cluster_->has_extended_classes()) return nullptr;
    auto made = std::make_unique<ExtendedState>();
    bool has_class = false;
    for (const berth_resource_v1& each : pod.resources()) {
      const std::string_view name = intern_.text(each.name);
      if (each.request == 0) continue;
      if ((each.flags & BERTH_RESOURCE_EXTENDED) == 0 && !name.starts_with(k_implied_prefix)) continue;
      AskedResource& asked = made->resources.emplace_back();
      asked.name = name;
      asked.device_class = cluster_->extended_class(name);
      asked.capacity = columns_.resource(cycle, BERTH_COL_CAPACITY, each.name);
      asked.listed = columns_.resource(cycle, BERTH_COL_LISTED, each.name);
      has_class = has_class || asked.device_class != nullptr;
    }
    if (!has_class || made->resources.size() > 64) return nullptr;
    std::sort(made->resources.begin(), made->resources.end(),
              [](const AskedResource& a, const AskedResource& b) { return a.name < b.name; });
    for (std::size_t i = 0; i < pod.containers().size(); ++i) made->containers.push_back(container_of(pod, i));
    return made;
  }

  AskedContainer container_of(berth::Pod pod, std::size_t i) const {
    const berth_container_v1& container = pod.containers()[i];
    AskedContainer made;
    made.name = berth::view(pod.container_names()[i]);
    made.is_short_lived = container.kind == BERTH_CONTAINER_INIT;
    std::vector<std::string> names;
    for (const auto& amount : std::span(container.amounts, container.amount_count))
      if ((amount.flags & BERTH_AMOUNT_REQUEST) != 0) names.emplace_back(intern_.text(amount.name));
    std::sort(names.begin(), names.end());
    for (const auto& amount : std::span(container.amounts, container.amount_count)) {
      if ((amount.flags & BERTH_AMOUNT_REQUEST) == 0) continue;
      std::string name(intern_.text(amount.name));
      const auto place = std::lower_bound(names.begin(), names.end(), name) - names.begin();
      made.amounts.push_back({std::move(name), amount.request, static_cast<std::size_t>(place)});
    }
    return made;
  }

  ClaimPtr extended_claim_of(berth::Pod pod) const {
    const std::string_view ns = intern_.text(pod.ns());
    if (ClaimPtr left = cluster_->extended_claim(ns, pod.name(), pod.uid())) return left;
    return new_extended_claim(ns, pod.name(), pod.uid(), cluster_->ids().next());
  }

  /// The copy of the extended claim for a node. Null with a reason: the node does not suit; null without: it has all by itself.
  const ExtendedCopy* copy_for(const State& state, berth::Slot slot, std::uint32_t& reason) const {
    ExtendedState& extended = *state.extended;
    if (!state.claims.back().object->wanted->requests.empty()) {
      reason = k_cannot_schedule_extended;
      return nullptr;
    }
    std::uint64_t needed = 0;
    for (std::size_t i = 0; i < extended.resources.size(); ++i) {
      const AskedResource& asked = extended.resources[i];
      if (asked.device_class != nullptr && asked.capacity[slot] == 0) {
        needed |= std::uint64_t{1} << i;
      } else if (asked.listed[slot] == 0) {
        reason = k_cannot_fit;
        return nullptr;
      }
    }
    if (needed == 0 && state.claims.size() == 1) return nullptr;
    const std::lock_guard lock(extended.mutex);
    std::shared_ptr<const ExtendedCopy>& known = extended.copies[needed];
    if (known == nullptr) known = make_copy(state, needed);
    return known.get();
  }

  std::shared_ptr<const ExtendedCopy> make_copy(const State& state, std::uint64_t needed) const {
    std::vector<const AskedResource*> resources;
    for (std::size_t i = 0; i < state.extended->resources.size(); ++i)
      if ((needed >> i & 1) != 0) resources.push_back(&state.extended->resources[i]);
    std::shared_ptr<ExtendedCopy> made = extended_copy(state.extended->containers, resources);
    const ClaimObject& claim = *state.claims.back().object;
    const ClaimPtr wanted = read_claim(claim.metadata, made->spec, {});
    auto named = std::make_shared<dra::Claim>(*wanted->wanted);
    named->name = claim.name;
    made->wanted = state.wanted;
    made->wanted.push_back(std::move(named));
    std::vector<std::string_view> specs;
    for (const CycleClaim& each : state.claims)
      if (each.object->allocation == nullptr && !each.is_extended) specs.push_back(each.object->spec);
    specs.push_back(made->spec);
    made->shape = shape_of(specs, made->wanted);
    made->shape->prepare(state.by_slot.size());
    return made;
  }

  /// 0, or why the node does not suit. Throws where the pod's attempt ends.
  std::uint32_t judge(State& state, berth::Slot slot, const NodeFacts::Entry& facts) const {
    const ExtendedCopy* copy = nullptr;
    if (state.extended != nullptr) {
      std::uint32_t reason = 0;
      copy = copy_for(state, slot, reason);
      if (reason != 0) return reason;
      if (copy == nullptr && state.claims.size() == 1) return 0;
    }
    std::shared_ptr<const dra::Allocation> found;
    const auto& shape = copy == nullptr ? state.shape : copy->shape;
    if (shape != nullptr) {
      const dra::Outcome outcome = allocate(state, slot, *shape, copy == nullptr ? state.wanted : copy->wanted, facts);
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
      if (is_usable(*state.claims[i].object, facts)) continue;
      is_available = false;
      state.unavailable[i].store(true, std::memory_order_relaxed);
    }
    if (!is_available) return k_not_available;
    state.by_slot[slot] = std::move(found);
    if (state.extended != nullptr) state.extended->by_slot[slot] = copy;
    return 0;
  }

  /// Searches one node, for filterTimeout at most. Upstream searches 16 nodes at a time and has no limit for all of them;
  /// here one claim that takes long on every node would stop all other pods for as long, so an attempt has three times
  /// the limit of a node.
  dra::Outcome search(State& state, std::span<const std::shared_ptr<const dra::PreparedClaim>> claims,
                      const NodeFacts::Entry& facts) const {
    struct Deadline {
      berth::Clock clock;
      std::int64_t end_ns;
    };
    const std::int64_t begin_ns = binding_.clock.monotonic_ns();
    const std::int64_t left_ns =
        std::int64_t{k_searches_max} * filter_timeout_ns_ - state.search_ns.load(std::memory_order_relaxed);
    Deadline deadline{binding_.clock, begin_ns + std::min(filter_timeout_ns_, left_ns)};
    dra::Limits limits;
    limits.steps_max = std::min(limits.steps_max, k_searches_max * limits.steps_max -
                                                      std::min(k_searches_max * limits.steps_max,
                                                               state.search_steps.load(std::memory_order_relaxed)));
    if (filter_timeout_ns_ != 0) {
      limits.stop = [](void* context) {
        const auto& its = *static_cast<const Deadline*>(context);
        return its.clock.monotonic_ns() > its.end_ns ? dra::Limits::Stop::deadline_exceeded : dra::Limits::Stop::go_on;
      };
      limits.context = &deadline;
    }
    thread_local dra::Workspace workspace;
    dra::Outcome outcome = state.allocator->allocate(facts.pools, claims, limits, workspace);
    state.search_ns.fetch_add(binding_.clock.monotonic_ns() - begin_ns, std::memory_order_relaxed);
    state.search_steps.fetch_add(outcome.steps, std::memory_order_relaxed);
    return outcome;
  }

  /// What was found for claims of the shape, or is found now.
  dra::Outcome allocate(State& state, berth::Slot slot, dra::ClaimShape& shape,
                        std::span<const std::shared_ptr<const dra::Claim>> wanted,
                        const NodeFacts::Entry& facts) const {
    if (state.allocator == nullptr) throw berth::Failure("the devices for this pod are reserved already");
    if (const dra::ClaimShape::Kept* const kept = shape.find(slot, *facts.pools, *state.devices.state))
      return {kept->kind, {}, kept->allocation};
    dra::Outcome outcome = search(state, shape.claims(), facts);
    shape.keep(slot, *facts.pools, *state.devices.state, outcome);
    // The shape may have been made for claims of other names: an error names this pod's.
    if (outcome.kind != dra::Outcome::Kind::failed) return outcome;
    std::vector<std::shared_ptr<const dra::PreparedClaim>> own;
    for (const auto& each : wanted)
      own.push_back(std::make_shared<dra::PreparedClaim>(each, class_lookup(), cluster_->programs()));
    return search(state, own, facts);
  }

  dra::ClassLookup class_lookup() const {
    return [this](std::string_view name) { return cluster_->device_class(name); };
  }

  std::shared_ptr<dra::ClaimShape> shape_of(const std::vector<std::string_view>& specs,
                                            const std::vector<std::shared_ptr<const dra::Claim>>& wanted) const {
    return shapes_.get(specs, wanted, class_lookup(), cluster_->programs());
  }

  bool is_usable(const ClaimObject& claim, const NodeFacts::Entry& facts) const {
    if (claim.allocation == nullptr) return true;
    if (claim.allocation->matcher != nullptr && !claim.allocation->matcher->matches(*facts.labels)) return false;
    const Readiness readiness = readiness_of(claim);
    if (readiness.kind == Readiness::Kind::failed) return false;
    return readiness.kind == Readiness::Kind::ready ||
           !is_overdue(*claim.allocation, binding_.clock.wall_ns(), binding_.binding_timeout_ns);
  }

  /// The alternatives of firstAvailable that were taken: the earlier in its list, the better.
  static std::int64_t score_of(const State& state, const dra::Allocation* found) {
    // Null: nothing was allocated for the node in this cycle.
    return found == nullptr ? 0 : state.score_of_allocated + found->preference();
  }
  static std::int64_t preference_of(const ClaimObject& claim) {
    std::int64_t sum = 0;
    for (const dra::Request& request : claim.wanted->requests)
      for (std::size_t i = 0; i < request.first_available.size(); ++i) {
        const std::string name = request.name + '/' + request.first_available[i].name;
        if (std::any_of(claim.allocation->results.begin(), claim.allocation->results.end(),
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
      std::mutex mutex;
      bool has_returned = false;
      std::optional<std::string> error;
    };
    const auto answer = std::make_shared<Answer>();
    begin([answer, queue = queue_, executor = binding_.executor, log = binding_.log, what = std::move(what),
           uid = std::move(pod_uid)](const std::string& error) {
      if (error.empty()) return;
      {
        const std::lock_guard lock(answer->mutex);
        answer->error = error;
        if (!answer->has_returned) return;
      }
      log.write(BERTH_LOG_ERROR, what + ": " + error);
      activate_later(executor, queue, uid);
    });
    const std::lock_guard lock(answer->mutex);
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
  BindingServices binding_;
  static constexpr std::int64_t k_timeout_ns_max = std::int64_t{1} << 60;  // 36 years
  static constexpr std::uint32_t k_retry_pause_ms = 1000;  // the queue's first backoff
  static constexpr std::uint64_t k_searches_max = 3;  // of as long as one node may take, in an attempt
  std::int64_t filter_timeout_ns_;
  berth::NodeColumns columns_;
  berth::IdColumn names_, label_sets_;
  std::unique_ptr<NodeFacts> facts_;
  mutable dra::ClaimShapes shapes_;
};

}  // namespace

BERTH_PLUGIN(DynamicResources)
