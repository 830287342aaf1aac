// SPDX-License-Identifier: Apache-2.0
// SelectorSpreadPriority and its relatives: pods of one service or controller go to different nodes and zones.
//
// Counts, per node, the pods of the namespace that everything selects which selects the pod at hand. The highest count
// becomes 0, a count of 0 the highest score. Where nodes have zones, the same over the sums per zone has two thirds of
// the weight. Source: kubernetes v1.16 pkg/scheduler/algorithm/priorities/selector_spreading.go; v1.18
// pkg/scheduler/framework/plugins/{defaultpodtopologyspread,selectorspread}. Zones are read as in v1.17: from the
// general labels where the beta labels are absent.
#include <berth/plugin.hpp>

#include "../../pod_topology_spread/default_selector.hpp"
#include "../prepared.hpp"
#include "../v1_16_args.hpp"
#include "pod_tally.hpp"
#include "selecting_objects.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace berth::legacy {
namespace {

constexpr std::uint32_t k_cluster_deps = k_usage_deps | BERTH_DEP_OTHER_NODES | BERTH_DEP_OBJECTS;

/// The zones of a snapshot, numbered.
struct Zones {
  std::vector<std::uint32_t> of;  // by slot: 1.., or 0 where region and zone are empty or absent
  std::size_t count = 1;          // of numbers, 0 included
};

/// Numbers zones; as long as no node's labels change, it does so once. [cycle]
class ZoneNumbers {
 public:
  explicit ZoneNumbers(Setup& setup) : labels_(setup.service<Labels>()) {
    const auto intern = setup.service<Intern>();
    keys_ = {intern("failure-domain.beta.kubernetes.io/region"), intern("topology.kubernetes.io/region"),
             intern("failure-domain.beta.kubernetes.io/zone"), intern("topology.kubernetes.io/zone")};
  }

  std::shared_ptr<const Zones> of(const Cycle& cycle) {
    std::array<const Id*, 4> columns{};
    for (std::size_t i = 0; i < keys_.size(); ++i) columns[i] = labels_.column(cycle, keys_[i]);
    const auto value = [&](std::size_t beta, std::size_t general, std::size_t slot) -> std::uint64_t {
      const Id found = columns[beta][slot] != 0 ? columns[beta][slot] : columns[general][slot];
      return found == BERTH_ID_EMPTY ? 0 : found;
    };
    std::vector<std::uint64_t> names(cycle.slot_count());  // region and zone as one
    for (std::size_t slot = 0; slot < names.size(); ++slot) names[slot] = value(0, 1, slot) << 32 | value(2, 3, slot);
    if (!zones_ || names != names_) {
      zones_ = numbered(names);
      names_ = std::move(names);
    }
    return zones_;
  }

 private:
  static std::shared_ptr<const Zones> numbered(const std::vector<std::uint64_t>& names) {
    std::vector<std::uint64_t> distinct = names;
    distinct.push_back(0);
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    auto zones = std::make_shared<Zones>();
    zones->count = distinct.size();
    for (const std::uint64_t name : names)
      zones->of.push_back(
          static_cast<std::uint32_t>(std::lower_bound(distinct.begin(), distinct.end(), name) - distinct.begin()));
    return zones;
  }

  Labels labels_;
  std::array<Id, 4> keys_{};
  std::vector<std::uint64_t> names_;  // by slot, that zones_ numbers
  std::shared_ptr<const Zones> zones_;
};

/// `scores` holds counts on entry.
void spread(const Zones& zones, std::span<const Slot> nodes, std::span<std::int64_t> scores, double max_score) {
  constexpr double k_zone_weight = 2.0 / 3.0;
  std::int64_t most = 0;
  std::vector<std::int64_t> by_zone(zones.count, 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    most = std::max(most, scores[i]);
    by_zone[zones.of[nodes[i]]] += scores[i];
  }
  by_zone[0] = 0;  // no zone
  const std::int64_t most_in_zone = *std::max_element(by_zone.begin(), by_zone.end());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    double score = max_score;
    if (most > 0) score = max_score * (static_cast<double>(most - scores[i]) / static_cast<double>(most));
    if (const std::uint32_t zone = zones.of[nodes[i]]; zone != 0) {
      double of_zone = max_score;
      if (most_in_zone > 0)
        of_zone = max_score * (static_cast<double>(most_in_zone - by_zone[zone]) / static_cast<double>(most_in_zone));
      score = score * (1.0 - k_zone_weight) + k_zone_weight * of_zone;
    }
    scores[i] = static_cast<std::int64_t>(score);
  }
}

struct SpreadState {
  std::vector<std::int64_t> counts;
  std::shared_ptr<const Zones> zones;
};

/// What the three have in common: counting, scoring, normalising.
class SpreadBase {
 public:
  // Not reentrant: parsed selectors are kept between cycles.
  using State = SpreadState;
  static constexpr const char* args_schema = k_score_args;
  static constexpr Normalize normalization = Normalize::custom;
  static constexpr const char* services[] = {Intern::id, Labels::id, Objects::id, PodIndex::id};
  static constexpr std::array<Interest, 0> interests{};

  void score(const Cycle& cycle, ScoreBlock& block) const {
    score_tally(prepared<State>(cycle, "preScore").counts, block);
  }
  void normalize(const Cycle& cycle, std::span<const Slot> nodes, std::span<std::int64_t> scores) const {
    spread(*prepared<State>(cycle, "preScore").zones, nodes, scores, static_cast<double>(max_score_));
  }

 protected:
  explicit SpreadBase(Setup& setup)
      : max_score_(read_max_score(setup.args())), zones_(setup), pods_(setup.service<PodIndex>()) {
    setup.pod_fields(BERTH_POD_LABELS | BERTH_POD_NAMESPACE);
  }

  /// nullptr: nothing selects the pod.
  void prepare(const Cycle& cycle, const OwnedSelector* selector, PreScore<State>& out) {
    out.make(State{selector == nullptr ? std::vector<std::int64_t>(cycle.slot_count(), 0)
                                       : tally(pods_, cycle, cycle.pod().ns(), *selector),
                   zones_.of(cycle)});
  }

 private:
  std::int64_t max_score_;
  ZoneNumbers zones_;
  PodIndex pods_;
};

/// All that selects the pod, of the first `k_kinds` kinds.
template <std::size_t k_kinds>
class BySelectors : public SpreadBase {
 public:
  explicit BySelectors(Setup& setup) : SpreadBase(setup), selecting_(setup, k_kinds) {}
  Verdict pre_score(const Cycle& cycle, PreScore<State>& out) {
    const SelectingObjects::Joined joined = selecting_.joined(cycle.pod());
    prepare(cycle, joined.count == 0 ? nullptr : &joined.selector, out);
    return Verdict::ok();
  }

 private:
  SelectingObjects selecting_;
};

class SelectorSpreadPriority : public BySelectors<SelectingObjects::k_kinds> {
 public:
  static constexpr Identity identity =
      identity_of("SelectorSpreadPriority", "Spreads pods that services and controllers select over nodes and zones.",
                  k_cluster_deps);
  static constexpr auto& watches = SelectingObjects::k_resources;
  using BySelectors::BySelectors;
};

class ServiceSpreadingPriority : public BySelectors<1> {
 public:
  static constexpr Identity identity = identity_of(
      "ServiceSpreadingPriority", "Spreads pods that services select over nodes and zones.", k_cluster_deps);
  static constexpr const char* watches[] = {"core/v1/services"};
  using BySelectors::BySelectors;
};

/// The later form: one selector from the pod's services and its own controller, and nothing for pods that name spread
/// constraints themselves.
class SelectorSpread : public SpreadBase {
 public:
  static constexpr Identity identity = identity_of(
      "SelectorSpread", "Spreads pods of a service or controller over nodes and zones, unless they say how themselves.",
      k_cluster_deps);
  static constexpr auto& watches = pod_topology_spread::DefaultSelectors::k_watches;

  explicit SelectorSpread(Setup& setup) : SpreadBase(setup), selectors_(setup) {
    setup.pod_fields(BERTH_POD_OWNER | BERTH_POD_SPREAD);
  }
  Verdict pre_score(const Cycle& cycle, PreScore<State>& out) {
    if (!cycle.pod().spread().empty()) return Verdict::skip();
    const OwnedSelector selector = selectors_.cached(cycle.pod());
    prepare(cycle, selector.selects_everything() ? nullptr : &selector, out);
    return Verdict::ok();
  }

 private:
  pod_topology_spread::DefaultSelectors selectors_;
};

}  // namespace
}  // namespace berth::legacy

BERTH_PLUGIN_PART(legacy_spread, berth::legacy::SelectorSpreadPriority, berth::legacy::ServiceSpreadingPriority,
                  berth::legacy::SelectorSpread)
