// SPDX-License-Identifier: Apache-2.0
// TaintToleration: keeps pods off nodes with taints they do not tolerate; prefers nodes with fewer soft taints of that
// kind.
//
// Assumes: taint lists are shared by many nodes, so a verdict per list is worth remembering.
// Decides: a NoSchedule or NoExecute taint without toleration refuses; the score counts PreferNoSchedule taints without
//          a toleration whose effect is PreferNoSchedule or empty, and is reversed: the fewest get 100.
// Source:  kubernetes v1.36 pkg/scheduler/framework/plugins/tainttoleration.
#include <berth/plugin.hpp>

#include <vector>

namespace {

class TaintToleration {
 public:
  /// The tolerations that count for soft taints.
  struct State {
    std::vector<berth::Toleration> soft;
  };

  static constexpr berth::Identity identity{.name = "TaintToleration",
                                            .version = "1.0.0",
                                            .summary = "Keeps pods off nodes whose taints they do not tolerate.",
                                            .deps = BERTH_DEP_NODE_STATIC | BERTH_DEP_POD_SPEC,
                                            .prepare_flags = BERTH_PREPARE_SCORE_WITHOUT_NODES};
  static constexpr berth::ReasonText reasons[] = {{"node(s) had untolerated taint(s)", "UntoleratedTaint"}};
  static constexpr berth::Normalize normalization = berth::Normalize::max_reversed;
  static constexpr const char* services[] = {berth::Sets::id, berth::Intern::id};
  static constexpr berth::Interest interests[] = {
      berth::hinted(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_TAINT),
      berth::hinted(BERTH_KIND_POD, BERTH_ACTION_UPDATE_POD_TOLERATION)};

  explicit TaintToleration(berth::Setup& setup)
      : sets_(setup.service<berth::Sets>()), intern_(setup.service<berth::Intern>()), taints_(setup.taint_set()) {
    setup.pod_fields(BERTH_POD_TOLERATIONS);
  }

  void filter(const berth::Cycle& cycle, berth::FilterBlock& nodes) const {
    const berth::Pod pod = cycle.pod();
    berth::SetMemo<bool> refused;
    for (std::uint32_t w = 0; w < nodes.words(); ++w) {
      const berth::Mask tainted = nodes.open(w) && nodes.word(w)[taints_] != 0u;
      each_distinct(nodes.word(w)[taints_], tainted, [&](berth::Id set, berth::Mask rows) {
        if (refused.get(set, [&](std::uint32_t s) { return repels(s, pod); })) {
          nodes.reject(w, rows, berth::unresolvable(1));
        }
      });
    }
  }

  berth::Verdict pre_score(const berth::Cycle& cycle, berth::PreScore<State>& out) const {
    State& state = out.make();
    for (const berth::Toleration& toleration : cycle.pod().tolerations()) {
      if (toleration.effect == BERTH_EFFECT_ANY || toleration.effect == BERTH_EFFECT_PREFER_NO_SCHEDULE) {
        state.soft.push_back(toleration);
      }
    }
    return berth::Verdict::ok();
  }

  void score(const berth::Cycle& cycle, berth::ScoreBlock& nodes) const {
    const State* state = cycle.state<State>();
    if (state == nullptr) throw berth::Failure("failed to read \"PreScoreTaintToleration\" from cycleState: not found");
    berth::SetMemo<std::int64_t> counts;
    for (std::uint32_t w = 0; w < nodes.words(); ++w) {
      const berth::Mask candidates(nodes.candidates(w));
      each_distinct(nodes.word(w)[taints_], candidates, [&](berth::Id set, berth::Mask rows) {
        nodes.set(w, rows, counts.get(set, [&](std::uint32_t s) { return untolerated_soft_taints(s, state->soft); }));
      });
    }
  }

  bool hint(const berth::Event& event, berth::Pod waiting) const {
    if (const auto pod = event.new_pod()) return pod->uid() == waiting.uid();
    const auto before = event.old_node();
    const auto after = event.new_node();
    if (!after || repels((*after)[taints_], waiting)) return false;
    return !before || repels((*before)[taints_], waiting);
  }

 private:
  auto text() const {
    return [this](berth::Id id) { return intern_.text(id); };
  }
  bool repels(std::uint32_t set, berth::Pod pod) const {
    return berth::has_untolerated_taint(sets_.taints(set), pod.tolerations(), text());
  }
  std::int64_t untolerated_soft_taints(std::uint32_t set, std::span<const berth::Toleration> tolerations) const {
    const auto taints = sets_.taints(set);
    return std::count_if(taints.begin(), taints.end(), [&](const berth::Taint& taint) {
      return taint.effect == BERTH_EFFECT_PREFER_NO_SCHEDULE && !berth::tolerated(taint, tolerations, text());
    });
  }

  berth::Sets sets_;
  berth::Intern intern_;
  berth::IdColumn taints_;
};

}  // namespace

BERTH_PLUGIN(TaintToleration)
