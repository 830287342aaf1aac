// SPDX-License-Identifier: Apache-2.0
// Predicate and priority about pods near to, or away from, other pods.
// Source: kubernetes v1.16 pkg/scheduler/algorithm/{predicates,priorities}: MatchInterPodAffinity,
// InterPodAffinityPriority.
#include <berth/plugin.hpp>

#include "../../inter_pod_affinity/preferred_terms.hpp"
#include "../findings.hpp"
#include "../prepared.hpp"
#include "../v1_16_args.hpp"
#include "pod_terms.hpp"

namespace berth::legacy {
namespace {

constexpr std::uint32_t k_cluster_deps = k_usage_deps | BERTH_DEP_OTHER_NODES;
constexpr char k_affinity_priority_args[] = BERTH_LEGACY_ARGS(
    BERTH_LEGACY_MAX_SCORE
    R"("hardPodAffinitySymmetricWeight": {"type": "integer", "minimum": 0, "maximum": 100, "default": 1, )"
    R"("description": "What a required affinity term of a placed pod adds when it means the pod at hand."}, )");

/// Looks at three things in this order: anti-affinity of placed pods, own affinity, own anti-affinity. A node hears of
/// the first that fails, in two sentences. The first pod of a group that wants to be together may go to any node, be it
/// one without the topology key.
class MatchInterPodAffinity {
 public:
  struct Sums {
    PairSums existing_anti;
    PairSums affinity;
    PairSums anti;
  };
  struct State {
    State(std::shared_ptr<const Sums> sums, bool itself)
        : counted(std::move(sums)),
          existing_anti(counted->existing_anti),
          affinity(counted->affinity),
          anti(counted->anti),
          affinity_pairs(counted->affinity.pair_count()),
          means_itself(itself) {}
    std::shared_ptr<const Sums> counted;  // shared by all clones
    MovableSums existing_anti;
    MovableSums affinity;
    MovableSums anti;
    std::int64_t affinity_pairs;
    bool means_itself;
  };

  // Not reentrant: label tables are kept between cycles.
  static constexpr Identity identity =
      identity_of("MatchInterPodAffinity", "Keeps pods near to, or away from, other pods.", k_cluster_deps);
  static constexpr const char* args_schema = k_no_args;
  static constexpr const char* services[] = {Intern::id,   Labels::id,  Sets::id,
                                             PodIndex::id, Reasons::id, NodeColumns::id};
  static constexpr Interest interests[] = {
      always(BERTH_KIND_POD, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_POD_LABEL | BERTH_ACTION_DELETE),
      always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL)};

  explicit MatchInterPodAffinity(Setup& setup)
      : labels_(setup.service<Labels>()),
        sets_(setup.service<Sets>()),
        pods_(setup.service<PodIndex>()),
        reasons_(setup.service<Reasons>()),
        columns_(setup.service<NodeColumns>()),
        label_set_(setup.label_set()) {
    setup.pod_fields(BERTH_POD_AFFINITY | BERTH_POD_LABELS | BERTH_POD_NAMESPACE);
  }

  Verdict pre_filter(const Cycle& cycle, PreFilter<State>& out) {
    const Topology topology(cycle, labels_, domains_);
    const Pod pod = cycle.pod();
    const PodTerms affinity = required_affinity(pod.affinity());
    const PodTerms anti = required_anti(pod.affinity());
    auto sums = std::make_shared<Sums>();
    for (const PodTerm& term : affinity) sums->affinity.of(term.topology_key, topology);
    for (const PodTerm& term : anti) sums->anti.of(term.topology_key, topology);
    pods_.each(cycle, BERTH_SHAPES_WITH_REQUIRED_ANTI, 0, [&](const berth_shape_v1& shape) {
      if (shape.affinity == nullptr) return;
      for (const PodTerm& term : required_anti(*shape.affinity))
        if (means(term, shape.ns, seen(pod))) sums->existing_anti.add(term.topology_key, shape, 1, topology);
    });
    if (!affinity.empty() || !anti.empty()) {
      pods_.each(cycle, BERTH_SHAPES_ALL, 0, [&](const berth_shape_v1& shape) {
        if (all_mean(affinity, pod.ns(), seen(shape)))
          for (const PodTerm& term : affinity) sums->affinity.add(term.topology_key, shape, 1, topology);
        for (const PodTerm& term : anti)
          if (means(term, pod.ns(), seen(shape))) sums->anti.add(term.topology_key, shape, 1, topology);
      });
    }
    out.make(std::move(sums), all_mean(affinity, pod.ns(), seen(pod)));
    return Verdict::ok();
  }

  Verdict pod_added(const Cycle& cycle, Pod other, Slot node) const { return move_pod(cycle, other, node, 1); }
  Verdict pod_removed(const Cycle& cycle, Pod other, Slot node) const { return move_pod(cycle, other, node, -1); }

  void filter(const Cycle& cycle, FilterBlock& block) const {
    const State& state = prepared<State>(cycle, "preFilter");
    const PodTerms affinity = required_affinity(cycle.pod().affinity());
    const PodTerms anti = required_anti(cycle.pod().affinity());
    const bool is_first = state.affinity_pairs == 0 && state.means_itself;
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      if (!block.open(w).any()) continue;
      const Lane<Id> label_sets = block.word(w)[label_set_];
      const Mask unwanted = state.existing_anti.any_above_zero(
          block, w, block.candidates(w), [&](std::uint32_t bit) { return sets_.labels(label_sets[bit]); });
      reject(block, w, unwanted, "node(s) didn't satisfy existing pods anti-affinity rules", false);
      Mask together = Mask::all();
      for (const PodTerm& term : affinity) together &= state.affinity.above_zero(term.topology_key, block, w);
      if (!is_first) reject(block, w, !together, "node(s) didn't match pod affinity rules", true);
      Mask clash;
      for (const PodTerm& term : anti) clash |= state.anti.above_zero(term.topology_key, block, w);
      reject(block, w, clash, "node(s) didn't match pod anti-affinity rules", false);
    }
  }

 private:
  void reject(FilterBlock& block, std::uint32_t w, Mask rows, std::string_view text, bool beyond) const {
    const Finding findings[] = {{rows, "node(s) didn't match pod affinity/anti-affinity", false}, {rows, text, beyond}};
    reject_all(findings, w, block, reasons_);
  }

  Verdict move_pod(const Cycle& cycle, Pod other, Slot node, std::int64_t delta) const {
    State* state = cycle.state<State>();
    if (state == nullptr || node >= cycle.slot_count()) return Verdict::ok();
    const auto labels = sets_.labels(columns_.column(cycle, label_set_)[node]);
    const Pod pod = cycle.pod();
    for (const PodTerm& term : required_anti(other.affinity()))
      if (means(term, other.ns(), seen(pod))) state->existing_anti.move(term.topology_key, labels, delta);
    const PodTerms affinity = required_affinity(pod.affinity());
    if (all_mean(affinity, pod.ns(), seen(other)))
      for (const PodTerm& term : affinity)
        state->affinity_pairs += state->affinity.move_counting(term.topology_key, labels, delta);
    for (const PodTerm& term : required_anti(pod.affinity()))
      if (means(term, pod.ns(), seen(other))) state->anti.move(term.topology_key, labels, delta);
    return Verdict::ok();
  }

  Labels labels_;
  Sets sets_;
  PodIndex pods_;
  Reasons reasons_;
  NodeColumns columns_;
  IdColumn label_set_;
  DomainCache domains_;
};

/// Weights of terms that hold between the pod and placed pods, in both directions. Stretched between the lowest and the
/// highest sum, where both start at 0.
class InterPodAffinityPriority {
 public:
  struct State {
    PairSums sums;
  };

  static constexpr Identity identity =
      identity_of("InterPodAffinityPriority", "Prefers nodes near to, or away from, other pods.", k_cluster_deps);
  static constexpr const char* args_schema = k_affinity_priority_args;
  static constexpr Normalize normalization = Normalize::custom;
  static constexpr const char* services[] = {Labels::id, PodIndex::id};
  static constexpr std::array<Interest, 0> interests{};

  explicit InterPodAffinityPriority(Setup& setup)
      : max_score_(read_max_score(setup.args())),
        hard_weight_(read_hard_weight(setup.args())),
        labels_(setup.service<Labels>()),
        pods_(setup.service<PodIndex>()) {
    setup.pod_fields(BERTH_POD_AFFINITY | BERTH_POD_LABELS | BERTH_POD_NAMESPACE);
  }

  Verdict pre_score(const Cycle& cycle, PreScore<State>& out) {
    const Topology topology(cycle, labels_, domains_);
    const Pod pod = cycle.pod();
    PairSums& sums = out.make().sums;
    const auto add = [&](PodTerms terms, Id own, const Seen& meant, const berth_shape_v1& where, std::int64_t factor) {
      for (const PodTerm& term : terms)
        if (means(term, own, meant)) sums.add(term.topology_key, where, factor * term.weight, topology);
    };
    const PodTerms wanted = preferred_affinity(pod.affinity());
    const PodTerms unwanted = preferred_anti(pod.affinity());
    if (!wanted.empty() || !unwanted.empty()) {
      pods_.each(cycle, BERTH_SHAPES_ALL, 0, [&](const berth_shape_v1& shape) {
        add(wanted, pod.ns(), seen(shape), shape, 1);
        add(unwanted, pod.ns(), seen(shape), shape, -1);
      });
    }
    pods_.each(cycle, BERTH_SHAPES_WITH_AFFINITY, 0, [&](const berth_shape_v1& shape) {
      if (shape.affinity == nullptr) return;
      if (hard_weight_ > 0)
        for (const PodTerm& term : required_affinity(*shape.affinity))
          if (means(term, shape.ns, seen(pod))) sums.add(term.topology_key, shape, hard_weight_, topology);
      add(preferred_affinity(*shape.affinity), shape.ns, seen(pod), shape, 1);
      add(preferred_anti(*shape.affinity), shape.ns, seen(pod), shape, -1);
    });
    return Verdict::ok();
  }

  void score(const Cycle& cycle, ScoreBlock& block) const {
    const State& state = prepared<State>(cycle, "preScore");
    for (std::uint32_t w = 0; w < block.words(); ++w)
      if (block.candidates(w) != 0) inter_pod_affinity::score_word(state.sums, block, w, block.scores(w));
  }
  void normalize(const Cycle&, std::span<const Slot>, std::span<std::int64_t> scores) const {
    std::int64_t least = 0;
    std::int64_t most = 0;
    for (const std::int64_t score : scores) {
      least = std::min(least, score);
      most = std::max(most, score);
    }
    for (std::int64_t& score : scores)
      score = most == least
                  ? 0
                  : static_cast<std::int64_t>(static_cast<double>(max_score_) *
                                              (static_cast<double>(score - least) / static_cast<double>(most - least)));
  }

 private:
  static std::int64_t read_hard_weight(const Json& args) {
    const std::int64_t weight = args["hardPodAffinitySymmetricWeight"].integer_or("hardPodAffinitySymmetricWeight", 1);
    ArgProblems problems;
    if (weight < 0 || weight > 100)
      problems.invalid("hardPodAffinitySymmetricWeight", std::to_string(weight), "not in valid range [0-100]");
    problems.end();
    return weight;
  }

  std::int64_t max_score_;
  std::int64_t hard_weight_;
  Labels labels_;
  PodIndex pods_;
  DomainCache domains_;
};

}  // namespace
}  // namespace berth::legacy

BERTH_PLUGIN_PART(legacy_pod_affinity, berth::legacy::MatchInterPodAffinity, berth::legacy::InterPodAffinityPriority)
