// SPDX-License-Identifier: Apache-2.0
// NodeResourcesFit: a node must have what the pod requests, and is scored by how full it would get.
//
// Assumes: the host keeps the columns current, what-if rows included, so nothing here follows other pods.
// Decides: filter in fit_filter.hpp, score in strategies.hpp. No normalisation.
// Ties:    equal scores are the host's to break.
// Source:  kubernetes v1.36 pkg/scheduler/framework/plugins/noderesources/fit.go.
#include <berth/plugin.hpp>

#include "../shared/node_resources/device_classes.hpp"
#include "../shared/node_resources/device_counts.hpp"
#include "../shared/node_resources/scored_resources.hpp"
#include "fit_args.hpp"
#include "fit_filter.hpp"

namespace berth::node_resources_fit {
namespace {

class NodeResourcesFit {
 public:
  static constexpr Identity identity{.name = "NodeResourcesFit",
                                     .version = "1.0.0",
                                     .summary = "Checks requests against free resources and scores by their use.",
                                     .deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC | BERTH_DEP_NODE_USAGE,
                                     .prepare_flags = BERTH_PREPARE_SCORE_WITHOUT_NODES};
  static constexpr const char* args_schema = k_fit_args_schema;
  static constexpr ReasonText reasons[] = {k_fit_reasons[0], k_fit_reasons[1], k_fit_reasons[2], k_fit_reasons[3]};
  static constexpr const char* services[] = {Intern::id, Reasons::id, Objects::id, Epoch::id,
                                             Sets::id,   Log::id,     Clock::id};
  static constexpr const char* watches[] = {node_resources::DeviceClasses::k_resource, devices::k_slices,
                                            devices::k_claims};
  static constexpr Interest interests[] = {
      hinted(BERTH_KIND_POD, BERTH_ACTION_DELETE | BERTH_ACTION_UPDATE_POD_SCALE_DOWN),
      hinted(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_ALLOCATABLE),
      hinted(BERTH_KIND_DEVICE_CLASS, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE)};

  /// What the filter compares, worked out once per pod.
  struct State {
    std::vector<Demand> demands;
  };

  explicit NodeResourcesFit(Setup& setup) : NodeResourcesFit(setup, read_fit_args(setup.args())) {}

  Verdict pre_filter(const Cycle& cycle, PreFilter<State>& point) const {
    State& state = point.get_or_make();
    state.demands =
        demands_of(cycle.pod(), [this](const berth_resource_v1& each) { return is_ignored(intern_.text(each.name)); });
    if (classes_ != nullptr && classes_->refresh() && epoch_) epoch_->bump();
    if (devices_ != nullptr && devices_->refresh(cycle.slot_count()) && epoch_) epoch_->bump();
    if (classes_ != nullptr && !classes_->names().empty())
      for (Demand& demand : state.demands)
        demand.devices_stand_in =
            demand.resource >= k_native_count && !classes_->names().class_of(intern_.text(demand.name)).empty();
    return Verdict::ok();
  }

  void filter(const Cycle& cycle, FilterBlock& block) const {
    const State* state = cycle.state<State>();
    if (state == nullptr) throw Failure(R"(error reading "PreFilterNodeResourcesFit" from cycleState: not found)");
    filter_.run(state->demands, block);
  }

  Verdict pre_score(const Cycle& cycle, PreScore<State>&) const {
    if (devices_ != nullptr && devices_->refresh(cycle.slot_count()) && epoch_) epoch_->bump();
    return Verdict::ok();
  }

  void score(const Cycle& cycle, ScoreBlock& block) const {
    const auto rate = [&](std::span<const Entry> entries) {
      score_block(strategy_, entries, block.candidates(), shape_, block.scores());
    };
    if (devices_ == nullptr) return scored_.bind(cycle.pod(), block, rate);
    const Id* const names = block[names_];
    const Id* const label_sets = block[label_sets_];
    scored_.bind(
        cycle.pod(), block, [this](std::size_t resource) { return devices_->counts(resource); },
        [&](std::size_t resource, std::uint32_t row, std::int64_t& capacity, std::int64_t& used) {
          if (block.slot(row) == BERTH_NO_SLOT) return;
          const node_resources::DeviceCount count =
              devices_->of(resource, block.slot(row), names[row], label_sets[row]);
          capacity = count.devices;
          used = count.allocated;
        },
        rate);
  }

  bool hint(const Event& event, Pod waiting) const {
    if (event.interest() == 2) return asks_for_class_of(event, waiting);
    return event.interest() == 0 ? hints_.after_pod_event(event, waiting) : hints_.after_node_event(event, waiting);
  }

 private:
  NodeResourcesFit(Setup& setup, FitArgs args)
      : ignored_resources_(std::move(args.ignored_resources)),
        ignored_groups_(std::move(args.ignored_groups)),
        strategy_(args.strategy),
        shape_(args.shape),
        intern_(setup.service<Intern>()),
        epoch_(setup.find_service<Epoch>()),
        classes_(setup.find_service<Objects>() ? std::make_unique<node_resources::DeviceClasses>(setup) : nullptr),
        devices_(node_resources::DeviceCounts::make(setup, args.resources)),
        scored_(setup, args.resources),
        filter_(setup.pods(), setup.allocatable("pods"), setup.pod_free(), setup.pod_allocatable(),
                setup.service<Reasons>(), intern_),
        hints_(setup.allocatable("pods"), setup.pod_allocatable()) {
    if (devices_ != nullptr) {
      names_ = setup.name();
      label_sets_ = setup.label_set();
    }
    setup.pod_fields(BERTH_POD_REQUESTS);
  }

  /// A class may make devices stand for what the pod asks for.
  bool asks_for_class_of(const Event& event, Pod waiting) const {
    const berth_object_v1* const now = event.new_object();
    if (now == nullptr) return true;
    const auto name_in = [](const berth_object_v1& object) {
      return object.values[1].present != 0 ? view(object.values[1].text) : std::string_view();
    };
    const std::string_view is = name_in(*now);
    const bool is_new = event.old_object() == nullptr;
    if (!is_new && is == name_in(*event.old_object())) return false;
    const std::string implied =
        std::string(node_resources::ExtendedNames::k_implied_prefix) + std::string(view(now->name));
    const auto wanted = waiting.resources();
    return std::any_of(wanted.begin(), wanted.end(), [&](const berth_resource_v1& each) {
      const std::string_view name = intern_.text(each.name);
      return each.request != 0 && ((is_new && name == implied) || (!is.empty() && name == is));
    });
  }

  bool is_ignored(std::string_view resource) const {
    const std::string_view group = resource.substr(0, resource.find('/'));
    return std::find(ignored_resources_.begin(), ignored_resources_.end(), resource) != ignored_resources_.end() ||
           std::find(ignored_groups_.begin(), ignored_groups_.end(), group) != ignored_groups_.end();
  }

  std::vector<std::string> ignored_resources_;
  std::vector<std::string> ignored_groups_;
  Strategy strategy_;
  ShapeTable shape_;
  Intern intern_;
  std::optional<Epoch> epoch_;
  std::unique_ptr<node_resources::DeviceClasses> classes_;  // null: the host watches nothing
  std::unique_ptr<node_resources::DeviceCounts> devices_;   // null: devices stand for nothing that is scored
  IdColumn names_, label_sets_;                             // of devices_
  node_resources::ScoredResources<node_resources::Charge::with_defaults> scored_;
  FitFilter filter_;
  FitHints hints_;
};

}  // namespace
}  // namespace berth::node_resources_fit

BERTH_PLUGIN(berth::node_resources_fit::NodeResourcesFit)
