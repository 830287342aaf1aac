// SPDX-License-Identifier: Apache-2.0
// Policies that hold pods of one service together by labels of nodes, or keep them apart.
//
// Together: service_affinity.hpp. Apart: counts the pods that the first service selects which selects the pod at hand;
// a node scores the share of them that are on nodes with another value of the label, averaged over the labels. Source:
// kubernetes v1.16 pkg/scheduler/algorithm/{predicates/predicates.go,priorities/selector_spreading.go}, v1.18
// pkg/scheduler/framework/plugins/serviceaffinity.
#include <berth/domains.hpp>
#include <berth/plugin.hpp>

#include "../prepared.hpp"
#include "../v1_16_args.hpp"
#include "pod_tally.hpp"
#include "selecting_objects.hpp"
#include "service_affinity.hpp"

namespace berth::legacy {
namespace {

constexpr char k_affinity_args[] =
    BERTH_LEGACY_ARGS(BERTH_LEGACY_NAMES("labels", "Labels in which nodes have to agree."));
constexpr char k_anti_args[] = BERTH_LEGACY_ARGS(
    BERTH_LEGACY_MAX_SCORE
    R"("label": {"type": "string", "default": "", "description": "Label by whose values pods are spread."}, )");
constexpr char k_both_args[] = BERTH_LEGACY_ARGS(
    BERTH_LEGACY_MAX_SCORE BERTH_LEGACY_NAMES("affinityLabels", "Labels in which nodes have to agree.")
        BERTH_LEGACY_NAMES("antiAffinityLabelsPreference", "Labels by whose values pods are spread."));

constexpr std::uint32_t k_cluster_deps = k_usage_deps | BERTH_DEP_OTHER_NODES | BERTH_DEP_OBJECTS;

struct AntiState {
  std::vector<std::int64_t> counts;        // by slot
  std::vector<DomainCache::Table> values;  // by label: which nodes have the same value
};

/// `scores` holds counts on entry.
void keep_apart(const AntiState& state, std::span<const Slot> nodes, std::span<std::int64_t> scores, double max_score) {
  double total = 0;
  for (const std::int64_t count : scores) total += static_cast<double>(count);
  std::vector<double> sums(scores.size(), 0);
  for (const DomainCache::Table& values : state.values) {
    std::vector<double> by_value(values->size(), 0);
    for (std::size_t i = 0; i < nodes.size(); ++i) by_value[values->at(nodes[i])] += static_cast<double>(scores[i]);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::uint32_t value = values->at(nodes[i]);
      if (value == 0) continue;
      const double score = total > 0 ? max_score * ((total - by_value[value]) / total) : max_score;
      sums[i] += score / static_cast<double>(state.values.size());
    }
  }
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<std::int64_t>(sums[i]);
}

/// What the two policies do, each over its own labels. [cycle] but for filter and score.
class ServiceRules {
 public:
  ServiceRules(Setup& setup, const std::vector<std::string>& together, const std::vector<std::string>& apart,
               std::int64_t max_score)
      : labels_(setup.service<Labels>()),
        pods_(setup.service<PodIndex>()),
        selecting_(setup, 1),
        together_(setup, together),
        order_(together.empty() ? std::nullopt : std::optional(setup.service<NodeOrder>())),
        max_score_(static_cast<double>(max_score)) {
    for (const std::string& label : apart) apart_.push_back(setup.service<Intern>()(label));
    setup.pod_fields(BERTH_POD_LABELS | BERTH_POD_NAMESPACE | BERTH_POD_NODE_SELECTION);
  }

  std::optional<AffinityState> count_peers(const Cycle& cycle) {
    if (together_.empty()) return std::nullopt;
    AffinityState state{false, Peers(pods_, *order_, cycle), together_.by_slot(cycle, labels_)};
    selecting_.each(cycle.pod(), SelectingObjects::services, [&](const OwnedSelector&) {
      state.has_services = true;
      return false;
    });
    return state;
  }
  static void move_pod(const Cycle& cycle, AffinityState& state, Pod other, Slot node, std::int64_t delta) {
    if (other.ns() == cycle.pod().ns() && NodeMatcher::has_all(cycle.pod().labels(), other.labels()))
      state.peers.move(node, delta);
  }
  void filter(const Cycle& cycle, const AffinityState& state, FilterBlock& block) const {
    together_.filter(cycle, state, block, unschedulable(1));
  }

  std::optional<AntiState> count_others(const Cycle& cycle) {
    if (apart_.empty()) return std::nullopt;
    AntiState state;
    for (const Id key : apart_) state.values.push_back(domains_.get(cycle, key, labels_.column(cycle, key)));
    state.counts.assign(cycle.slot_count(), 0);
    selecting_.each(cycle.pod(), SelectingObjects::services, [&](const OwnedSelector& selector) {
      state.counts = tally(pods_, cycle, cycle.pod().ns(), selector);
      return false;
    });
    return state;
  }
  void normalize(const AntiState& state, std::span<const Slot> nodes, std::span<std::int64_t> scores) const {
    keep_apart(state, nodes, scores, max_score_);
  }

 private:
  Labels labels_;
  PodIndex pods_;
  SelectingObjects selecting_;
  AffinityLabels together_;
  std::optional<NodeOrder> order_;  // there where labels hold pods together
  std::vector<Id> apart_;
  DomainCache domains_;
  double max_score_;
};

constexpr ReasonText k_mismatch{"node(s) didn't match service affinity", "ServiceAffinity"};
constexpr Interest k_pod_moves =
    always(BERTH_KIND_POD, BERTH_ACTION_ADD | BERTH_ACTION_DELETE | BERTH_ACTION_UPDATE_POD_LABEL);
constexpr Interest k_node_moves =
    always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_DELETE | BERTH_ACTION_UPDATE_NODE_LABEL);
constexpr Interest k_service_moves =
    always(BERTH_KIND_OWN_WATCH, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE | BERTH_ACTION_DELETE);

/// What the two that filter have in common; State is what they leave.
template <class PolicyState>
class PodsKeptTogether {
 public:
  using State = PolicyState;
  static constexpr ReasonText reasons[] = {k_mismatch};
  static constexpr const char* services[] = {Intern::id, Labels::id, Objects::id, PodIndex::id, NodeOrder::id};
  static constexpr const char* watches[] = {"core/v1/services"};
  static constexpr Interest interests[] = {k_pod_moves, k_node_moves, k_service_moves};

  Verdict pre_filter(const Cycle& cycle, PreFilter<State>& out) {
    std::optional<AffinityState> peers = rules_.count_peers(cycle);
    if (!peers) return Verdict::skip();
    out.get_or_make().peers = std::move(peers);
    return Verdict::ok();
  }
  Verdict pod_added(const Cycle& cycle, Pod other, Slot node) const { return move_pod(cycle, other, node, 1); }
  Verdict pod_removed(const Cycle& cycle, Pod other, Slot node) const { return move_pod(cycle, other, node, -1); }
  void filter(const Cycle& cycle, FilterBlock& block) const {
    const State& state = prepared<State>(cycle, "preFilter");
    if (!state.peers) fail_unprepared("preFilter");
    rules_.filter(cycle, *state.peers, block);
  }

 protected:
  explicit PodsKeptTogether(ServiceRules rules) : rules_(std::move(rules)) {}
  ServiceRules rules_;

 private:
  Verdict move_pod(const Cycle& cycle, Pod other, Slot node, std::int64_t delta) const {
    State* state = cycle.state<State>();
    if (state != nullptr && state->peers) ServiceRules::move_pod(cycle, *state->peers, other, node, delta);
    return Verdict::ok();
  }
};

struct FilterState {
  std::optional<AffinityState> peers;
};
struct BothState {
  std::optional<AffinityState> peers;
  std::optional<AntiState> others;
};

class CheckServiceAffinity : public PodsKeptTogether<FilterState> {
 public:
  static constexpr Identity identity = identity_of(
      "CheckServiceAffinity", "Keeps pods of one service on nodes that agree in the named labels.", k_cluster_deps);
  static constexpr const char* args_schema = k_affinity_args;
  explicit CheckServiceAffinity(Setup& setup)
      : PodsKeptTogether(ServiceRules(setup, read_some_names(setup.args(), "labels"), {}, 0)) {}
};

class ServiceAntiAffinity {
 public:
  using State = AntiState;
  static constexpr Identity identity = identity_of(
      "ServiceAntiAffinity", "Spreads pods of one service over the values of the named label.", k_cluster_deps);
  static constexpr const char* args_schema = k_anti_args;
  static constexpr Normalize normalization = Normalize::custom;
  static constexpr const char* services[] = {Intern::id, Labels::id, Objects::id, PodIndex::id};
  static constexpr const char* watches[] = {"core/v1/services"};
  static constexpr std::array<Interest, 0> interests{};

  explicit ServiceAntiAffinity(Setup& setup)
      : rules_(setup, {}, {read_label(setup.args())}, read_max_score(setup.args())) {}

  Verdict pre_score(const Cycle& cycle, PreScore<State>& out) {
    out.make(*rules_.count_others(cycle));
    return Verdict::ok();
  }
  void score(const Cycle& cycle, ScoreBlock& block) const {
    score_tally(prepared<State>(cycle, "preScore").counts, block);
  }
  void normalize(const Cycle& cycle, std::span<const Slot> nodes, std::span<std::int64_t> scores) const {
    rules_.normalize(prepared<State>(cycle, "preScore"), nodes, scores);
  }

 private:
  ServiceRules rules_;
};

/// Both in one. Without labels for a point it passes every node, or scores 0.
class ServiceAffinity : public PodsKeptTogether<BothState> {
 public:
  static constexpr Identity identity = identity_of(
      "ServiceAffinity", "Keeps pods of one service on nodes that agree in labels, or spreads them.", k_cluster_deps);
  static constexpr const char* args_schema = k_both_args;
  static constexpr Normalize normalization = Normalize::custom;

  explicit ServiceAffinity(Setup& setup)
      : PodsKeptTogether(ServiceRules(setup, read_names(setup.args(), "affinityLabels"),
                                      read_names(setup.args(), "antiAffinityLabelsPreference"),
                                      read_max_score(setup.args()))) {}

  Verdict pre_score(const Cycle& cycle, PreScore<State>& out) {
    std::optional<AntiState> others = rules_.count_others(cycle);
    if (!others) return Verdict::skip();
    out.get_or_make().others = std::move(others);
    return Verdict::ok();
  }
  void score(const Cycle& cycle, ScoreBlock& block) const { score_tally(others(cycle).counts, block); }
  void normalize(const Cycle& cycle, std::span<const Slot> nodes, std::span<std::int64_t> scores) const {
    rules_.normalize(others(cycle), nodes, scores);
  }

 private:
  static const AntiState& others(const Cycle& cycle) {
    const State& state = prepared<State>(cycle, "preScore");
    if (!state.others) fail_unprepared("preScore");
    return *state.others;
  }
};

}  // namespace
}  // namespace berth::legacy

BERTH_PLUGIN_PART(legacy_services, berth::legacy::CheckServiceAffinity, berth::legacy::ServiceAntiAffinity,
                  berth::legacy::ServiceAffinity)
