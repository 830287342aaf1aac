// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a decoder keeps of an object, and which of its fields count.
namespace berth::decode {

/// Parts of pods that only some plugins read, and that every pod has of its own: they cost more than all else of it.
struct KeptParts {
  /// Pod::annotations. Symbols last as long as the process, and networks write addresses into annotations.
  bool annotations = true;
  /// Volumes of kind other: each pod has one for its service account's token, under a name of its own.
  bool plain_volumes = true;
};

/// Fields of pods that count only while a feature gate is on, as kube-scheduler v1.36 has the gates by
/// default. A field whose gate is off is read as if it were not there.
struct FieldGates {
  bool toleration_comparison = false;   // operators Lt and Gt of tolerations; off: operators that are not known
  bool pod_level_resources = true;      // spec.resources of pods
  bool pod_level_resize = true;         // status.resources and status.allocatedResources of pods with spec.resources
  bool spread_match_label_keys = true;  // matchLabelKeys of topologySpreadConstraints
};

}  // namespace berth::decode
