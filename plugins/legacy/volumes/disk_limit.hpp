// SPDX-License-Identifier: Apache-2.0
/// How many disks of an in-tree type a node bears: its allocatable says so, else the operator, else the type.
/// Source: kubernetes v1.16 pkg/scheduler/algorithm/predicates/predicates.go (getMaxVolumeFunc).
#pragma once
#include <berth/plugin.hpp>

#include "../v1_16_args.hpp"
#include "disk_ids.hpp"

#include <cstdlib>

namespace berth::legacy {

inline constexpr DiskType k_ebs{"awsElasticBlockStore",       "volumeID", "kubernetes.io/aws-ebs",
                                "attachable-volumes-aws-ebs", 39,         25};
inline constexpr DiskType k_gce{"gcePersistentDisk",         "pdName", "kubernetes.io/gce-pd",
                                "attachable-volumes-gce-pd", 16,       16};
inline constexpr DiskType k_azure{"azureDisk", "diskName", "kubernetes.io/azure-disk", "attachable-volumes-azure-disk",
                                  16,          16};
inline constexpr DiskType k_cinder{"cinder", "volumeID", "kubernetes.io/cinder", "attachable-volumes-cinder", 256, 256};

#define BERTH_LEGACY_MAX_VOLUMES                        \
  R"("maxVolumes": {"type": "integer", "minimum": 1, )" \
  R"("description": "Limit of nodes that name none; the environment variable KUBE_MAX_PD_VOLS was this."}, )"

/// As the expression "^[cmr]5.*|t3|z1d" was meant to be, and was not: the last two match anywhere.
inline bool is_nitro(std::string_view instance_type) {
  const bool of_fifth = instance_type.size() >= 2 &&
                        std::string_view("cmr").find(instance_type[0]) != std::string_view::npos &&
                        instance_type[1] == '5';
  return of_fifth || instance_type.find("t3") != instance_type.npos || instance_type.find("z1d") != instance_type.npos;
}

/// `maxVolumes`, else KUBE_MAX_PD_VOLS; 0: the operator says nothing. Throws BadArgs.
inline std::int64_t operators_limit(const Json& args) {
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

class DiskLimit {
 public:
  using Memo = SetMemo<std::int64_t>;  // by instance type

  DiskLimit(Setup& setup, const DiskType& type)
      : type_(type),
        operators_(operators_limit(setup.args())),
        intern_(setup.service<Intern>()),
        own_(setup.allocatable(type.resource)),
        instance_types_(setup.label("beta.kubernetes.io/instance-type")) {}

  IntColumn own() const noexcept { return own_; }
  IdColumn instance_types() const noexcept { return instance_types_; }
  /// own, instance_type: what those columns hold for the node.
  std::int64_t of(std::int64_t own, Id instance_type, Memo& by_type) const {
    if (own != 0) return own;
    if (operators_ != 0) return operators_;
    if (type_.nitro_limit == type_.limit) return type_.limit;
    return by_type.get(instance_type,
                       [&](Id type) { return is_nitro(intern_.text(type)) ? type_.nitro_limit : type_.limit; });
  }

 private:
  const DiskType& type_;  // a constant of the program
  std::int64_t operators_;
  Intern intern_;
  IntColumn own_;
  IdColumn instance_types_;
};

}  // namespace berth::legacy
