// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "text/diagnostics.hpp"

namespace berth::app {

/// Which version of Kubernetes 1 the scheduler behaves as, by its minor number.
struct CompatibilityVersion {
  int emulated_minor = 36;
  int min_compatible_minor = 35;  // the oldest of the other programs of the control plane
};

/// "1.36"
std::string release(int minor);

/// Reads --emulated-version and --min-compatibility-version: 1.35 or kube=1.35 each, from three minor versions before
/// `binary_minor` up to it, once. The second is the version before the first when it is not given. `diagnostics` gets what
/// kube-scheduler would refuse.
/// Source: kubernetes v1.36 component-base/compatibility, apiserver/pkg/util/compatibility.
CompatibilityVersion read_compatibility_version(int binary_minor, const std::vector<std::string>& emulated,
                                                const std::vector<std::string>& min_compatible,
                                                text::Diagnostics& diagnostics);

}  // namespace berth::app
