// SPDX-License-Identifier: Apache-2.0
// NodeResourcesFit: a node must have what the pod requests, and is scored by how full it would get.
//
// Assumes: the host keeps the columns current, what-if rows included, so nothing here follows other pods.
// Decides: filter in fit_filter.hpp, score in strategies.hpp. No normalisation.
// Ties:    equal scores are the host's to break.
// Source:  kubernetes v1.36 pkg/scheduler/framework/plugins/noderesources/fit.go. Departs: resources of device classes
//          do not exist here, so their names count as absent from every node and DeviceClass events are not asked for.
#include <berth/plugin.hpp>

#include "../node_resources/scored_resources.hpp"
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
                                     .flags = BERTH_PLUGIN_REENTRANT | BERTH_PLUGIN_ISOLATABLE};
  static constexpr const char* args_schema = k_fit_args_schema;
  static constexpr ReasonText reasons[] = {k_fit_reasons[0], k_fit_reasons[1], k_fit_reasons[2], k_fit_reasons[3]};
  static constexpr const char* services[] = {Intern::id, Reasons::id};
  static constexpr Interest interests[] = {
      hinted(BERTH_KIND_POD, BERTH_ACTION_DELETE | BERTH_ACTION_UPDATE_POD_SCALE_DOWN),
      hinted(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_ALLOCATABLE)};

  /// What the filter compares, worked out once per pod.
  struct State {
    std::vector<Demand> demands;
  };

  explicit NodeResourcesFit(Setup& setup) : NodeResourcesFit(setup, read_fit_args(setup.args())) {}

  Verdict pre_filter(const Cycle& cycle, PreFilter<State>& point) const {
    point.get_or_make().demands =
        demands_of(cycle.pod(), [this](const berth_resource_v1& each) { return is_ignored(intern_.text(each.name)); });
    return Verdict::ok();
  }

  void filter(const Cycle& cycle, FilterBlock& block) const {
    const State* state = cycle.state<State>();
    if (state == nullptr) throw Failure(R"(error reading "PreFilterNodeResourcesFit" from cycleState: not found)");
    filter_.run(state->demands, block);
  }

  Verdict pre_score(const Cycle&, PreScore<State>&) const { return Verdict::ok(); }

  void score(const Cycle& cycle, ScoreBlock& block) const {
    scored_.bind(cycle.pod(), block, [&](std::span<const Entry> entries) {
      score_block(strategy_, entries, block.candidates(), shape_, block.scores());
    });
  }

  bool hint(const Event& event, Pod waiting) const {
    return event.interest() == 0 ? hints_.after_pod_event(event, waiting) : hints_.after_node_event(event, waiting);
  }

 private:
  NodeResourcesFit(Setup& setup, FitArgs args)
      : ignored_resources_(std::move(args.ignored_resources)),
        ignored_groups_(std::move(args.ignored_groups)),
        strategy_(args.strategy),
        shape_(args.shape),
        intern_(setup.service<Intern>()),
        scored_(setup, args.resources),
        filter_(setup.pods(), setup.capacity("pods"), setup.pod_free(), setup.pod_capacity(), setup.service<Reasons>(),
                intern_),
        hints_(setup.capacity("pods"), setup.pod_capacity()) {
    setup.pod_fields(BERTH_POD_REQUESTS);
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
  node_resources::ScoredResources<node_resources::Charge::with_defaults> scored_;
  FitFilter filter_;
  FitHints hints_;
};

}  // namespace
}  // namespace berth::node_resources_fit

BERTH_PLUGIN(berth::node_resources_fit::NodeResourcesFit)
