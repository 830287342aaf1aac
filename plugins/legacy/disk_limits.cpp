// SPDX-License-Identifier: Apache-2.0
// A node takes no more disks of an in-tree type than its limit: the node's own, else the operator's, else the type's.
//
// Disks that are on the node already cost nothing, and a node whose CSINode says that a CSI driver has taken the type
// over is not limited here. Source: kubernetes v1.16 pkg/scheduler/algorithm/predicates/predicates.go
// (MaxPDVolumeCountChecker), v1.18 pkg/scheduler/framework/plugins/nodevolumelimits/non_csi.go.
#include <berth/plugin.hpp>

#include "disk_ids.hpp"
#include "era_args.hpp"

#include <cstdlib>

namespace berth::legacy {
namespace {

constexpr char k_limit_args[] = BERTH_LEGACY_ARGS(
    R"("maxVolumes": {"type": "integer", "minimum": 1, )"
    R"("description": "Limit of nodes that name none; the environment variable KUBE_MAX_PD_VOLS was this."}, )");

constexpr DiskType k_ebs{"awsElasticBlockStore", "volumeID", "kubernetes.io/aws-ebs", "attachable-volumes-aws-ebs", 39};
constexpr DiskType k_gce{"gcePersistentDisk", "pdName", "kubernetes.io/gce-pd", "attachable-volumes-gce-pd", 16};
constexpr DiskType k_azure{"azureDisk", "diskName", "kubernetes.io/azure-disk", "attachable-volumes-azure-disk", 16};
constexpr DiskType k_cinder{"cinder", "volumeID", "kubernetes.io/cinder", "attachable-volumes-cinder", 256};
constexpr std::int64_t k_ebs_nitro_limit = 25;

/// As the expression "^[cmr]5.*|t3|z1d" was meant to be, and was not: the last two match anywhere.
bool is_nitro(std::string_view instance_type) {
  const bool of_fifth = instance_type.size() >= 2 &&
                        std::string_view("cmr").find(instance_type[0]) != std::string_view::npos &&
                        instance_type[1] == '5';
  return of_fifth || instance_type.find("t3") != instance_type.npos || instance_type.find("z1d") != instance_type.npos;
}

/// 0: the operator says nothing.
std::int64_t operators_limit(const Json& args) {
  const std::int64_t configured = args["maxVolumes"].integer_or("maxVolumes", 0);
  if (args.contains("maxVolumes") && configured < 1) {
    ArgProblems problems;
    problems.invalid("maxVolumes", std::to_string(configured), "must be greater than zero");
    problems.end();
  }
  if (configured != 0) return configured;
  const char* text = std::getenv("KUBE_MAX_PD_VOLS");
  return text == nullptr ? 0 : std::max<std::int64_t>(0, parse_integer(text).value_or(0));
}

class DiskLimits {
 public:
  /// What the pod brings; left by pre_filter, which spares counting nodes anew for each pod.
  struct State {
    DiskIds wanted;
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
    if (const State* state = cycle.state<State>()) return judge(state->wanted, shared_->counts, block);
    DiskCounts counts(shared_->reader);
    judge(shared_->reader.of_pod(cycle.pod()), counts, block);
  }

 protected:
  /// `sized_by_instance`: the limit of nodes that name none depends on their instance type.
  DiskLimits(Setup& setup, const DiskType& type, bool sized_by_instance)
      : operators_limit_(operators_limit(setup.args())),
        default_limit_(type.limit),
        sized_by_instance_(sized_by_instance),
        intern_(setup.service<Intern>()),
        sets_(setup.service<Sets>()),
        names_(setup.name()),
        volumes_(setup.volume_set()),
        own_limits_(setup.capacity(type.resource)),
        instance_types_(setup.label("beta.kubernetes.io/instance-type")),
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

  void judge(const DiskIds& wanted, DiskCounts& counts, FilterBlock& block) const {
    if (wanted.empty()) return;
    SetMemo<DiskCounts::Room> rooms;
    SetMemo<std::int64_t> limits;  // by instance type
    for (std::uint32_t w = 0; w < block.words(); ++w) {
      const Rows rows = block.word(w);
      each_distinct(rows[volumes_], block.open(w), [&](std::uint32_t set, Mask same) {
        const DiskCounts::Room room = rooms.get(set, [&](std::uint32_t s) { return counts.room(s, wanted); });
        each_bit(same.bits(), [&](std::uint32_t bit) {
          if (room.existing + room.more <= limit(block.row(w * 64 + bit), limits)) return;
          if (!shared_->reader.is_migrated(intern_.text(rows[names_][bit])))
            block.reject_row(w * 64 + bit, unschedulable(1));
        });
      });
    }
  }
  std::int64_t limit(const Row& node, SetMemo<std::int64_t>& by_type) const {
    if (node[own_limits_] != 0) return node[own_limits_];
    if (operators_limit_ != 0) return operators_limit_;
    if (!sized_by_instance_) return default_limit_;
    return by_type.get(node[instance_types_],
                       [&](Id type) { return is_nitro(intern_.text(type)) ? k_ebs_nitro_limit : default_limit_; });
  }

  std::int64_t operators_limit_;
  std::int64_t default_limit_;
  bool sized_by_instance_;
  Intern intern_;
  Sets sets_;
  IdColumn names_;
  IdColumn volumes_;
  IntColumn own_limits_;
  IdColumn instance_types_;
  std::unique_ptr<Shared> shared_;
};

constexpr std::uint32_t k_limit_deps =
    BERTH_DEP_POD_SPEC | BERTH_DEP_NODE_STATIC | BERTH_DEP_NODE_USAGE | BERTH_DEP_OBJECTS;

#define BERTH_LEGACY_LIMIT(Class, text, type, sized_by_instance)                                                   \
  class Class : public DiskLimits {                                                                                \
   public:                                                                                                         \
    static constexpr Identity identity{.name = #Class, .version = "1.0.0", .summary = text, .deps = k_limit_deps}; \
    explicit Class(Setup& setup) : DiskLimits(setup, type, sized_by_instance) {}                                   \
  }
BERTH_LEGACY_LIMIT(MaxEBSVolumeCount, "Limits the EBS disks of a node.", k_ebs, true);
BERTH_LEGACY_LIMIT(MaxGCEPDVolumeCount, "Limits the GCE disks of a node.", k_gce, false);
BERTH_LEGACY_LIMIT(MaxAzureDiskVolumeCount, "Limits the Azure disks of a node.", k_azure, false);
BERTH_LEGACY_LIMIT(MaxCinderVolumeCount, "Limits the Cinder disks of a node.", k_cinder, false);
BERTH_LEGACY_LIMIT(EBSLimits, "MaxEBSVolumeCount under its later name.", k_ebs, true);
BERTH_LEGACY_LIMIT(GCEPDLimits, "MaxGCEPDVolumeCount under its later name.", k_gce, false);
BERTH_LEGACY_LIMIT(AzureDiskLimits, "MaxAzureDiskVolumeCount under its later name.", k_azure, false);
BERTH_LEGACY_LIMIT(CinderLimits, "MaxCinderVolumeCount under its later name.", k_cinder, false);
#undef BERTH_LEGACY_LIMIT

}  // namespace
}  // namespace berth::legacy

BERTH_PLUGIN_PART(legacy_disk_limits, berth::legacy::MaxEBSVolumeCount, berth::legacy::MaxGCEPDVolumeCount,
                  berth::legacy::MaxAzureDiskVolumeCount, berth::legacy::MaxCinderVolumeCount, berth::legacy::EBSLimits,
                  berth::legacy::GCEPDLimits, berth::legacy::AzureDiskLimits, berth::legacy::CinderLimits)
