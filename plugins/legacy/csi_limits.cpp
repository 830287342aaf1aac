// SPDX-License-Identifier: Apache-2.0
// MaxCSIVolumeCountPred: a node takes no more volumes of a CSI driver than its allocatable, or better its CSINode,
// says. Source: kubernetes v1.16 pkg/scheduler/algorithm/predicates/csi_volume_predicate.go.
#include <berth/plugin.hpp>

#include "csi_volumes.hpp"
#include "era_args.hpp"

namespace berth::legacy {
namespace {

class MaxCSIVolumeCountPred {
 public:
  /// What the pod brings, and the allocatable limits of its drivers by slot. Without the pre-filter point those of
  /// CSINodes alone are known.
  struct State {
    CsiVolumes wanted;
    std::map<std::string, const std::int64_t*> allocatable;
  };

  static constexpr Identity identity{
      .name = "MaxCSIVolumeCountPred",
      .version = "1.0.0",
      .summary = "Keeps pods off nodes that can attach no more volumes of a CSI driver.",
      .deps = BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC | BERTH_DEP_NODE_USAGE | BERTH_DEP_OBJECTS};
  static constexpr const char* args_schema = k_no_args;
  static constexpr ReasonText reasons[] = {{"node(s) exceed max volume count", "TooManyVolumes"}};
  static constexpr const char* services[] = {Intern::id, Sets::id, Objects::id, NodeColumns::id};
  static constexpr const char* watches[] = {"core/v1/persistentvolumeclaims", "core/v1/persistentvolumes",
                                            "storage.k8s.io/v1/storageclasses", "storage.k8s.io/v1/csinodes"};
  static constexpr std::uint32_t k_any_change = BERTH_ACTION_ADD | BERTH_ACTION_UPDATE;
  static constexpr Interest interests[] = {
      always(BERTH_KIND_POD, BERTH_ACTION_DELETE),
      always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_ALLOCATABLE),
      always(BERTH_KIND_PERSISTENT_VOLUME_CLAIM, k_any_change),
      always(BERTH_KIND_PERSISTENT_VOLUME, k_any_change),
      always(BERTH_KIND_STORAGE_CLASS, k_any_change),
      always(BERTH_KIND_CSI_NODE, k_any_change)};

  explicit MaxCSIVolumeCountPred(Setup& setup)
      : reader_(setup),
        intern_(setup.service<Intern>()),
        columns_(setup.service<NodeColumns>()),
        names_(setup.name()),
        volumes_(setup.volume_set()) {
    setup.pod_fields(BERTH_POD_STORAGE | BERTH_POD_NAMESPACE);
  }

  Verdict pre_filter(const Cycle& cycle, PreFilter<State>& out) const {
    CsiVolumes wanted = reader_.of_pod(cycle.pod());
    if (wanted.empty()) return Verdict::skip();
    State& state = out.make(State{std::move(wanted), {}});
    for (const CsiVolume& volume : state.wanted) {
      if (!state.allocatable.contains(volume.driver))
        state.allocatable[volume.driver] =
            columns_.resource(cycle, BERTH_COL_CAPACITY, intern_(limit_key(volume.driver)));
    }
    return Verdict::ok();
  }

  void filter(const Cycle& cycle, FilterBlock& block) const {
    if (const State* state = cycle.state<State>()) return judge(*state, block);
    judge(State{reader_.of_pod(cycle.pod()), {}}, block);
  }

 private:
  void judge(const State& state, FilterBlock& block) const {
    if (state.wanted.empty()) return;
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      const Rows rows = block.word(w);
      each_distinct(rows[volumes_], block.open(w), [&](std::uint32_t set, Mask same) {
        const CsiVolumes existing = reader_.of_set(set);
        each_bit(same.bits(), [&](std::uint32_t bit) {
          const CsiNode node = reader_.node(intern_.text(rows[names_][bit]));
          if (!fits(state, existing, node, rows.slot(bit))) block.reject_row(w * 64 + bit, unschedulable(1));
        });
      });
    }
  }

  static bool fits(const State& state, const CsiVolumes& existing, const CsiNode& node, Slot slot) {
    std::map<std::string, std::int64_t> more;
    for (const CsiVolume& volume : state.wanted)
      if (node.counts(volume) && !std::binary_search(existing.begin(), existing.end(), volume)) ++more[volume.driver];
    for (const auto& [driver, count] : more) {
      const std::optional<std::int64_t> limit = limit_of(state, node, driver, slot);
      if (!limit) continue;
      const auto attached = std::count_if(existing.begin(), existing.end(), [&](const CsiVolume& volume) {
        return volume.driver == driver && node.counts(volume);
      });
      if (attached + count > *limit) return false;
    }
    return true;
  }
  static std::optional<std::int64_t> limit_of(const State& state, const CsiNode& node, const std::string& driver,
                                              Slot slot) {
    if (const auto at = node.limits.find(driver); at != node.limits.end()) return at->second;
    const auto column = state.allocatable.find(driver);
    if (column == state.allocatable.end() || column->second == nullptr || column->second[slot] == 0)
      return std::nullopt;
    return column->second[slot];
  }

  CsiReader reader_;
  Intern intern_;
  NodeColumns columns_;
  IdColumn names_;
  IdColumn volumes_;
};

}  // namespace
}  // namespace berth::legacy

BERTH_PLUGIN_PART(legacy_csi, berth::legacy::MaxCSIVolumeCountPred)
