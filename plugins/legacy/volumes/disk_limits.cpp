// SPDX-License-Identifier: Apache-2.0
// A node takes no more disks of an in-tree type than its limit: the node's own, else the operator's, else the type's.
//
// Disks that are on the node already cost nothing, and a node whose CSINode says that a CSI driver has taken the type
// over is not limited here. Source: kubernetes v1.16 pkg/scheduler/algorithm/predicates/predicates.go
// (MaxPDVolumeCountChecker), v1.18 pkg/scheduler/framework/plugins/nodevolumelimits/non_csi.go.
#include <berth/plugin.hpp>

#include "disk_limit.hpp"

#include <memory>

namespace berth::legacy {
namespace {

constexpr char k_limit_args[] = BERTH_LEGACY_ARGS(BERTH_LEGACY_MAX_VOLUMES);

class DiskLimits {
 public:
  /// What the pod brings, left by pre_filter, which saves counting nodes again for each pod; and, of nodes with too many
  /// disks, whether a CSI driver has taken over: filters are asked about them again when victims are looked for.
  struct State {
    DiskIds wanted;
    std::unique_ptr<KnownSets<bool>> taken_over = std::make_unique<KnownSets<bool>>();  // by slot
  };
  static constexpr const char* args_schema = k_limit_args;
  static constexpr ReasonText reasons[] = {{"node(s) exceed max volume count", "TooManyVolumes"}};
  static constexpr const char* services[] = {Intern::id, Sets::id, Objects::id};
  static constexpr const char* watches[] = {"core/v1/persistentvolumeclaims", "core/v1/persistentvolumes",
                                            "storage.k8s.io/v1/storageclasses", "storage.k8s.io/v1/csinodes"};
  static constexpr std::uint32_t k_any_change = BERTH_ACTION_ADD | BERTH_ACTION_UPDATE;
  static constexpr Interest interests[] = {
      always(BERTH_KIND_POD, BERTH_ACTION_DELETE),
      always(BERTH_KIND_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_ALLOCATABLE | BERTH_ACTION_UPDATE_NODE_LABEL),
      always(BERTH_KIND_PERSISTENT_VOLUME_CLAIM, k_any_change),
      always(BERTH_KIND_PERSISTENT_VOLUME, k_any_change),
      always(BERTH_KIND_STORAGE_CLASS, k_any_change),
      always(BERTH_KIND_CSI_NODE, k_any_change)};

  Verdict pre_filter(const Cycle& cycle, PreFilter<State>& out) const {
    DiskIds wanted = shared_->reader.of_pod(cycle.pod());
    if (wanted.empty()) return Verdict::skip();
    shared_->counts.refresh(shared_->reader.epoch(), sets_.recycled());
    out.make(State{std::move(wanted)});
    return Verdict::ok();
  }

  void filter(const Cycle& cycle, FilterBlock& block) const {
    if (const State* state = cycle.state<State>()) return judge(*state, shared_->counts, block);
    DiskCounts counts(shared_->reader);
    judge(State{shared_->reader.of_pod(cycle.pod())}, counts, block);
  }

 protected:
  DiskLimits(Setup& setup, const DiskType& type)
      : limit_(setup, type),
        intern_(setup.service<Intern>()),
        sets_(setup.service<Sets>()),
        names_(setup.name()),
        volumes_(setup.volume_set()),
        shared_(std::make_unique<Shared>(setup, type)) {
    setup.pod_fields(BERTH_POD_STORAGE | BERTH_POD_NAMESPACE);
  }

 private:
  /// At an address of its own: the counts refer to the reader.
  struct Shared {
    Shared(Setup& setup, const DiskType& type) : reader(setup, type), counts(reader) {}
    DiskReader reader;
    DiskCounts counts;
  };

  void judge(const State& state, DiskCounts& counts, FilterBlock& block) const {
    if (state.wanted.empty()) return;
    SetMemo<DiskCounts::Room> rooms;
    DiskLimit::Memo limits;
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      const Rows rows = block.word(w);
      each_distinct(rows[volumes_], block.open(w), [&](std::uint32_t set, Mask same) {
        const DiskCounts::Room room = rooms.get(set, [&](std::uint32_t s) { return counts.room(s, state.wanted); });
        each_bit(same.bits(), [&](std::uint32_t bit) {
          const std::int64_t limit = limit_.of(rows[limit_.own()][bit], rows[limit_.instance_types()][bit], limits);
          if (room.existing + room.more <= limit) return;
          const auto read = [&](std::uint32_t) { return shared_->reader.is_migrated(intern_.text(rows[names_][bit])); };
          if (!*state.taken_over->get(rows.slot(bit), read)) block.reject_row(w * 64 + bit, unschedulable(1));
        });
      });
    }
  }

  DiskLimit limit_;
  Intern intern_;
  Sets sets_;
  IdColumn names_;
  IdColumn volumes_;
  std::unique_ptr<Shared> shared_;
};

constexpr std::uint32_t k_limit_deps = k_usage_deps | BERTH_DEP_OBJECTS;

#define BERTH_LEGACY_LIMIT(Class, text, type)                                                                      \
  class Class : public DiskLimits {                                                                                \
   public:                                                                                                         \
    static constexpr Identity identity{.name = #Class, .version = "1.0.0", .summary = text, .deps = k_limit_deps}; \
    explicit Class(Setup& setup) : DiskLimits(setup, type) {}                                                      \
  }
BERTH_LEGACY_LIMIT(MaxEBSVolumeCount, "Limits the EBS disks of a node.", k_ebs);
BERTH_LEGACY_LIMIT(MaxGCEPDVolumeCount, "Limits the GCE disks of a node.", k_gce);
BERTH_LEGACY_LIMIT(MaxAzureDiskVolumeCount, "Limits the Azure disks of a node.", k_azure);
BERTH_LEGACY_LIMIT(MaxCinderVolumeCount, "Limits the Cinder disks of a node.", k_cinder);
BERTH_LEGACY_LIMIT(EBSLimits, "MaxEBSVolumeCount under its later name.", k_ebs);
BERTH_LEGACY_LIMIT(GCEPDLimits, "MaxGCEPDVolumeCount under its later name.", k_gce);
BERTH_LEGACY_LIMIT(AzureDiskLimits, "MaxAzureDiskVolumeCount under its later name.", k_azure);
BERTH_LEGACY_LIMIT(CinderLimits, "MaxCinderVolumeCount under its later name.", k_cinder);
#undef BERTH_LEGACY_LIMIT

}  // namespace
}  // namespace berth::legacy

BERTH_PLUGIN_PART(legacy_disk_limits, berth::legacy::MaxEBSVolumeCount, berth::legacy::MaxGCEPDVolumeCount,
                  berth::legacy::MaxAzureDiskVolumeCount, berth::legacy::MaxCinderVolumeCount, berth::legacy::EBSLimits,
                  berth::legacy::GCEPDLimits, berth::legacy::AzureDiskLimits, berth::legacy::CinderLimits)
