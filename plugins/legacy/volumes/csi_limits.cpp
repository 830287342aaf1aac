// SPDX-License-Identifier: Apache-2.0
// MaxCSIVolumeCountPred: a node takes no more volumes of a CSI driver than its allocatable, or better its CSINode,
// says. Source: kubernetes v1.16 pkg/scheduler/algorithm/predicates/csi_volume_predicate.go.
#include <berth/plugin.hpp>

#include "../known_sets.hpp"
#include "../v1_16_args.hpp"
#include "csi_nodes.hpp"
#include "csi_volumes.hpp"

#include <memory>

namespace berth::legacy {
namespace {

class MaxCSIVolumeCountPred {
 public:
  struct Driver {
    std::string name;
    std::uint32_t number;             // of CsiNodes
    const std::int64_t* allocatable;  // limits by slot; null without the pre-filter point, which looks them up
  };
  /// What the pod brings, and its drivers.
  struct State {
    CsiVolumes wanted;
    std::vector<Driver> drivers;
  };

  static constexpr Identity identity =
      identity_of("MaxCSIVolumeCountPred", "Keeps pods off nodes that can attach no more volumes of a CSI driver.",
                  k_usage_deps | BERTH_DEP_OBJECTS);
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
        shared_(std::make_unique<Shared>(setup)),
        intern_(setup.service<Intern>()),
        columns_(setup.service<NodeColumns>()),
        names_(setup.name()),
        volumes_(setup.volume_set()) {
    setup.pod_fields(BERTH_POD_STORAGE | BERTH_POD_NAMESPACE);
  }

  Verdict pre_filter(const Cycle& cycle, PreFilter<State>& out) const {
    CsiVolumes wanted = reader_.of_pod(cycle.pod());
    if (wanted.empty()) return Verdict::skip();
    shared_->nodes.refresh(cycle, columns_.column(cycle, names_));
    shared_->sets.refresh(reader_.epoch(), reader_.recycled());
    State& state = out.make(state_of(std::move(wanted), shared_->nodes));
    for (Driver& driver : state.drivers)
      driver.allocatable = columns_.resource(cycle, BERTH_COL_ALLOCATABLE, intern_.for_cycle(limit_key(driver.name)));
    return Verdict::ok();
  }

  void filter(const Cycle& cycle, FilterBlock& block) const {
    if (const State* state = cycle.state<State>()) return judge(*state, shared_->nodes, shared_->sets, block);
    // A profile may take the plugin away from preFilter: the same for this block alone, but for limits in allocatable.
    CsiNodes nodes = shared_->unread;
    KnownSets<CsiVolumes> sets;
    for (std::uint32_t w = 0; w < block.words(); ++w)
      each_bit(block.open(w).bits(),
               [&](std::uint32_t bit) { nodes.read(block.slot(w * 64 + bit), block.word(w)[names_][bit]); });
    judge(state_of(reader_.of_pod(cycle.pod()), nodes), nodes, sets, block);
  }

 private:
  /// At an address of its own: filter() uses it while the plugin is const.
  struct Shared {
    explicit Shared(Setup& setup) : nodes(setup), unread(nodes) {}
    CsiNodes nodes;  // changed by pre_filter alone
    const CsiNodes unread;
    KnownSets<CsiVolumes> sets;
  };
  /// Volumes of one driver that count on nodes where the type was taken over.
  struct Count {
    std::size_t driver;
    std::uint32_t took_over;
    std::int64_t count;
    bool counts(const CsiNode& node) const { return took_over == 0 || (node.migrated & took_over) != 0; }
  };
  /// A list of volumes, as far as the pod's drivers go.
  struct Room {
    std::vector<Count> more;      // of the wanted ones, those that are not there yet
    std::vector<Count> existing;  // all that are there
  };

  static State state_of(CsiVolumes wanted, const CsiNodes& nodes) {
    State state{std::move(wanted), {}};
    for (const CsiVolume& volume : state.wanted)  // sorted by driver
      if (state.drivers.empty() || state.drivers.back().name != volume.driver)
        state.drivers.push_back({volume.driver, nodes.number_of(volume.driver), nullptr});
    return state;
  }
  static Room compared(const State& state, const CsiVolumes& existing) {
    Room room;
    const auto add = [&](std::vector<Count>& counts, const CsiVolume& volume) {
      for (std::size_t d = 0; d < state.drivers.size(); ++d) {
        if (state.drivers[d].name != volume.driver) continue;
        const auto same = std::find_if(counts.begin(), counts.end(), [&](const Count& each) {
          return each.driver == d && each.took_over == volume.took_over;
        });
        if (same == counts.end())
          counts.push_back({d, volume.took_over, 1});
        else
          ++same->count;
      }
    };
    for (const CsiVolume& volume : state.wanted)
      if (!std::binary_search(existing.begin(), existing.end(), volume)) add(room.more, volume);
    for (const CsiVolume& volume : existing) add(room.existing, volume);
    return room;
  }

  void judge(const State& state, const CsiNodes& nodes, KnownSets<CsiVolumes>& sets, FilterBlock& block) const {
    if (state.wanted.empty()) return;
    SetMemo<Room> rooms;
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      const Rows rows = block.word(w);
      each_distinct(rows[volumes_], block.open(w), [&](std::uint32_t set, Mask same) {
        const Room& room = rooms.get(set, [&](std::uint32_t s) {
          return compared(state, *sets.get(s, [&](std::uint32_t unread) { return reader_.of_set(unread); }));
        });
        each_bit(same.bits(), [&](std::uint32_t bit) {
          const Slot slot = rows.slot(bit);
          if (!fits(state, room, nodes.at(slot), slot)) block.reject_row(w * 64 + bit, unschedulable(1));
        });
      });
    }
  }

  static bool fits(const State& state, const Room& room, const CsiNode& node, Slot slot) {
    for (std::size_t d = 0; d < state.drivers.size(); ++d) {
      const auto sum = [&](const std::vector<Count>& counts) {
        std::int64_t total = 0;
        for (const Count& each : counts)
          if (each.driver == d && each.counts(node)) total += each.count;
        return total;
      };
      const std::int64_t more = sum(room.more);
      if (more == 0) continue;
      const std::optional<std::int64_t> limit = limit_of(state.drivers[d], node, slot);
      if (limit && sum(room.existing) + more > *limit) return false;
    }
    return true;
  }
  static std::optional<std::int64_t> limit_of(const Driver& driver, const CsiNode& node, Slot slot) {
    for (const auto& [number, limit] : node.limits)
      if (number == driver.number) return limit;
    if (driver.allocatable == nullptr || driver.allocatable[slot] == 0) return std::nullopt;
    return driver.allocatable[slot];
  }

  CsiReader reader_;
  std::unique_ptr<Shared> shared_;
  Intern intern_;
  NodeColumns columns_;
  IdColumn names_;
  IdColumn volumes_;
};

}  // namespace
}  // namespace berth::legacy

BERTH_PLUGIN_PART(legacy_csi, berth::legacy::MaxCSIVolumeCountPred)
