// SPDX-License-Identifier: Apache-2.0
// VolumeBinding: a pod fits where its claims have, find or get a volume; they are bound before the pod is.
// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/volumebinding.
#include "binding.hpp"

#include <atomic>
#include <memory>
#include <mutex>

namespace {

using namespace volume_binding;

bool names_claims(berth::Pod pod) {
  for (const berth_volume_v1& volume : pod.volumes())
    if (volume.kind == BERTH_VOLUME_CLAIM || volume.kind == BERTH_VOLUME_EPHEMERAL) return true;
  return false;
}

std::string annotation(const berth_object_v1& csi_node, std::string_view key) {
  const storage::Pairs all = storage::pairs(storage::json(csi_node, storage::csi_node_field::annotations));
  const std::string* value = storage::find(all, key);
  return value == nullptr ? std::string() : *value;
}

class VolumeBinding {
 public:
  struct State {
    std::unique_ptr<Plan> plan;  // null: the pod names no claims
    bool by_words = false;
    std::shared_ptr<Work> work = nullptr;
    mutable std::atomic<bool> filtered{false};  // otherwise there is nothing to reserve, as upstream

    State() = default;
    State(State&& other) noexcept
        : plan(std::move(other.plan)), by_words(other.by_words), work(std::move(other.work)) {}
  };

  static constexpr berth::Identity identity{
      .name = "VolumeBinding",
      .version = "1.0.0",
      .summary = "Places pods where their claims have, find or get a volume, and binds these first.",
      .deps = BERTH_DEP_POD_SPEC | BERTH_DEP_POD_IDENTITY | BERTH_DEP_NODE_STATIC | BERTH_DEP_OBJECTS,
      .filter_flags = BERTH_FILTER_COSTLY | BERTH_FILTER_RECORDS};
  static constexpr const char args_schema[] = R"({
    "type": "object",
    "additionalProperties": false,
    "properties": {
      "bindTimeoutSeconds": {
        "type": "integer", "default": 600, "minimum": 0,
        "errorMessage": "invalid BindTimeoutSeconds, should not be a negative value",
        "description": "Seconds to wait for the claims of a pod to be bound."
      },
      "shape": {
        "not": {},
        "errorMessage": "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring",
        "description": "Only with the feature gate StorageCapacityScoring, which is off."
      }
    }
  })";
  static constexpr berth::ReasonText reasons[] = {
      {"node(s) didn't match PersistentVolume's node affinity", "VolumeNodeAffinityConflict"},
      {"node(s) didn't find available persistent volumes to bind", "VolumeBindingConflict"},
      {"node(s) did not have enough free storage", "NotEnoughSpace"},
      {"node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", "VolumeMissing"}};
  static constexpr const char* services[] = {
      berth::Intern::id, berth::Objects::id, berth::Labels::id,   berth::Reasons::id, berth::Sets::id,
      berth::Assume::id, berth::Writes::id,  berth::Executor::id, berth::Clock::id,   berth::NodeColumns::id};
  static constexpr const char* watches[] = {
      "core/v1/persistentvolumeclaims", "core/v1/persistentvolumes",    "storage.k8s.io/v1/storageclasses",
      "storage.k8s.io/v1/csinodes",     "storage.k8s.io/v1/csidrivers", "storage.k8s.io/v1/csistoragecapacities"};
  static constexpr const char* rbac[] = {"patch core/persistentvolumes", "patch core/persistentvolumeclaims"};
  static constexpr std::uint32_t k_any_change = BERTH_ACTION_ADD | BERTH_ACTION_UPDATE;
  static constexpr berth::Interest interests[] = {
      berth::hinted(BERTH_KIND_STORAGE_CLASS, k_any_change),
      berth::hinted(BERTH_KIND_PERSISTENT_VOLUME_CLAIM, k_any_change),
      berth::always(BERTH_KIND_PERSISTENT_VOLUME, k_any_change),
      berth::always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL),
      berth::hinted(BERTH_KIND_CSI_NODE, k_any_change),
      berth::hinted(BERTH_KIND_CSI_DRIVER, BERTH_ACTION_UPDATE),
      berth::hinted(BERTH_KIND_CSI_STORAGE_CAPACITY, k_any_change)};

  explicit VolumeBinding(berth::Setup& setup)
      : planner_(std::make_unique<Planner>(setup)),
        columns_(setup.service<berth::NodeColumns>()),
        reasons_(setup.service<berth::Reasons>()),
        services_{setup.service<berth::Objects>(), setup.service<berth::Assume>(),
                  setup.service<berth::Writes>(),  setup.service<berth::Executor>(),
                  setup.service<berth::Clock>(),   setup.service<berth::Sets>(),
                  setup.service<berth::Intern>(),  setup.label_set(),
                  planner_->claim_watch(),         planner_->volume_watch(),
                  timeout_of(setup.args())} {
    setup.pod_fields(BERTH_POD_STORAGE | BERTH_POD_NAMESPACE);
  }

  berth::Verdict pre_filter(const berth::Cycle& cycle, berth::PreFilter<State>& out) {
    State& state = out.make();
    if (!names_claims(cycle.pod())) return berth::Verdict::skip();
    state.plan = std::make_unique<Plan>();
    if (std::optional<Refusal> refusal = planner_->plan(cycle, *state.plan))
      return refusal->error ? berth::Verdict::error(std::move(refusal->text))
                            : berth::Verdict::unresolvable(std::move(refusal->text));
    state.by_words = state.plan->by_words();
    return berth::Verdict::ok();
  }

  void filter(const berth::Cycle& cycle, berth::FilterBlock& nodes) const {
    const State* state = cycle.state<State>();
    if (state == nullptr) throw berth::Failure("not found");
    if (state->plan == nullptr) return;
    state->filtered.store(true, std::memory_order_relaxed);
    const berth::Id* names = nodes[planner_->names()];
    std::array<berth::Reason, 16> reason_of{};
    std::vector<const storage::Volume*> taken;
    const auto reject = [&](std::uint32_t w, berth::Mask rows, std::uint32_t conflicts) {
      if (nodes.wants_reasons() && reason_of[conflicts] == 0) reason_of[conflicts] = reason(conflicts);
      nodes.reject(w, rows, berth::unresolvable(reason_of[conflicts]));
    };
    const bool by_words = nodes.contiguous() && state->by_words;
    for (std::uint32_t w = 0; w < nodes.words(); ++w) {
      if (by_words) {
        const WordConflicts found = judge_word(*state->plan, nodes.first_slot() / 64 + w);
        if ((found.any() & nodes.open(w).bits()) == 0) continue;
        for (std::uint32_t conflicts = 1; conflicts < 16; ++conflicts) {
          std::uint64_t rows = ~std::uint64_t{0};
          for (std::uint32_t i = 0; i < 4; ++i) rows &= (conflicts >> i & 1u) != 0 ? found.of[i] : ~found.of[i];
          if (rows != 0) reject(w, berth::Mask(rows), conflicts);
        }
        continue;
      }
      berth::each_bit(nodes.open(w).bits(), [&](std::uint32_t bit) {
        const std::uint32_t row = w * 64 + bit;
        const std::uint32_t conflicts = judge(*state->plan, nodes.slot(row), names[row], taken, nullptr);
        if (conflicts != 0) reject(w, berth::Mask(std::uint64_t{1} << bit), conflicts);
      });
    }
  }

  // Sizes of volumes and capacities are compared only where upstream's gate StorageCapacityScoring is on.
  berth::Verdict pre_score(const berth::Cycle&, berth::PreScore<State>&) const { return berth::Verdict::skip(); }
  std::int64_t score_each(const berth::Cycle&, berth::Row) const { return 0; }

  berth::Verdict reserve(const berth::Cycle& cycle, berth::Slot node) {
    State* state = cycle.state<State>();
    if (state == nullptr) return berth::Verdict::error("not found");
    if (state->plan == nullptr) return berth::Verdict::ok();
    state->work = std::make_shared<Work>();
    if (!state->filtered.load(std::memory_order_relaxed)) return berth::Verdict::ok();
    Choice choice;
    std::vector<const storage::Volume*> taken;
    const berth::Id name = columns_.column(cycle, planner_->names())[node];
    if (judge(*state->plan, node, name, taken, &choice) != 0)
      return berth::Verdict::error("the node does not suit the claims any more");
    return take(services_, choice, std::string(services_.intern.text(name)), *state->work);
  }

  void unreserve(const berth::Cycle& cycle, berth::Slot) {
    const State* state = cycle.state<State>();
    if (state == nullptr || state->work == nullptr) return;
    forget(services_, state->work->volumes);
    forget(services_, state->work->claims);
  }

  berth::Verdict pre_bind_check(const berth::Cycle& cycle, berth::Slot, berth::PreBindFlags& flags) {
    const State* state = cycle.state<State>();
    if (state == nullptr) return berth::Verdict::error("not found");
    if (state->work == nullptr || state->work->all_bound) return berth::Verdict::skip();
    flags.parallel();
    return berth::Verdict::ok();
  }

  berth::Verdict pre_bind(const berth::Cycle& cycle, berth::BindCall call) {
    const State* state = cycle.state<State>();
    if (state == nullptr) return berth::Verdict::error("not found");
    if (state->work == nullptr || state->work->all_bound) return berth::Verdict::ok();
    Binding::start(services_, state->work, call, std::string(cycle.pod().name()));
    return berth::Verdict::async();
  }

  bool hint(const berth::Event& event, berth::Pod waiting) const {
    const berth_object_v1* now = event.new_object();
    const berth_object_v1* before = event.old_object();
    if (now == nullptr) return true;
    switch (event.kind()) {
      case BERTH_KIND_STORAGE_CLASS:
        return before == nullptr || storage::text(*before, storage::class_field::topologies) !=
                                        storage::text(*now, storage::class_field::topologies);
      case BERTH_KIND_PERSISTENT_VOLUME_CLAIM:
        return berth::view(now->ns) == services_.intern.text(waiting.ns()) &&
               storage::names_claim(waiting, berth::view(now->name));
      case BERTH_KIND_CSI_NODE:
        return before == nullptr ||
               annotation(*before, storage::k_migrated_plugins) != annotation(*now, storage::k_migrated_plugins);
      case BERTH_KIND_CSI_DRIVER:
        return before != nullptr && storage::number(*before, 0) != 0 && storage::number(*now, 0) == 0 &&
               uses_driver(waiting, berth::view(now->name));
      case BERTH_KIND_CSI_STORAGE_CAPACITY: {
        if (before == nullptr) return true;
        const auto old_limit = capacity_limit(*before), limit = capacity_limit(*now);
        return limit && (!old_limit || *limit > *old_limit);
      }
      default:
        return true;
    }
  }

 private:
  static std::int64_t timeout_of(const berth::Json& args) {
    return args["bindTimeoutSeconds"].integer_or("bindTimeoutSeconds", 600) * 1'000'000'000;
  }

  berth::Reason reason(std::uint32_t conflicts) const {
    std::vector<berth_str> texts;
    for (std::uint32_t i = 0; i < std::size(reasons); ++i)
      if ((conflicts >> i & 1u) != 0) texts.push_back(berth::borrow(reasons[i].text));
    return reasons_.make(texts);
  }

  /// True when the pod has an inline volume of that CSI driver.
  static bool uses_driver(berth::Pod pod, std::string_view driver) {
    for (const berth_volume_v1& volume : pod.volumes()) {
      if (volume.kind != BERTH_VOLUME_INLINE) continue;
      const berth::Json json = berth::Json::parse(berth::view(volume.source));
      if (json["csi"]["driver"].is_string() && json["csi"]["driver"].string("driver") == driver) return true;
    }
    return false;
  }

  std::unique_ptr<Planner> planner_;
  berth::NodeColumns columns_;
  berth::Reasons reasons_;
  Services services_;
};

}  // namespace

BERTH_PLUGIN(VolumeBinding)
