// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace berth::config {

/// What kube-scheduler's feature gates switch in berth, at the defaults of v1.36. Which gate sets which member, and
/// the gates that berth knows in one setting only: app/cli/feature_gates.cpp.
struct Features {
  bool compares_tolerations = false;    // Lt and Gt of a toleration compare numbers; otherwise they tolerate nothing
  bool pod_level_resources = true;      // spec.resources of a pod counts instead of the sum of its containers
  bool pod_level_resize = true;         // …and while it is being resized what status.resources says
  bool spread_match_label_keys = true;  // matchLabelKeys of a topologySpreadConstraint count
  bool alternative_devices = true;      // firstAvailable of a device claim's request counts; otherwise it is refused
  bool csi_driver_must_be_installed = false;   // CSIDriver spec.preventPodSchedulingIfMissing counts
  bool pops_from_backoff = true;               // an idle scheduler tries pods that are still in backoff
  bool evicts_in_background = true;            // victims are deleted while other pods are decided
  bool nominates_before_slow_bindings = true;  // status.nominatedNodeName is written before permit and pre-bind
};

}  // namespace berth::config
