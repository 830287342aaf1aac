// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace berth::decode {

/// Fields of pods that count only while a feature gate is on, as kube-scheduler v1.36 has the gates by
/// default. A field whose gate is off is read as if it were not there.
struct FieldGates {
  bool toleration_comparison = false;   // operators Lt and Gt of tolerations; off: operators that are not known
  bool pod_level_resources = true;      // spec.resources of pods
  bool pod_level_resize = true;         // status.resources and status.allocatedResources of pods with spec.resources
  bool spread_match_label_keys = true;  // matchLabelKeys of topologySpreadConstraints
};

}  // namespace berth::decode
