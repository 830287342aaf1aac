// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "observe/metric_page.hpp"

namespace berth::app {

/// Reads --feature-gates: NAME=true or kube:NAME=false each. berth behaves as its own table of gates says, so a setting
/// changes nothing; what differs from that table, or is about to disappear, is a warning. `wrong` gets what would end
/// kube-scheduler's start: unknown names, locked gates set otherwise, gates that are on without those they need.
/// Source: kubernetes v1.36 component-base/featuregate and the gates of pkg/features.
void read_feature_gates(const std::vector<std::string>& settings, std::vector<std::string>& warnings,
                        std::vector<std::string>& wrong);

/// What BalanceAttachedNodeVolumes is set to, a gate of v1.11 to v1.21 that priorities of old listen to.
bool balances_volumes(const std::vector<std::string>& settings);

/// kubernetes_feature_enabled: as what berth behaves, gate by gate.
std::vector<observe::MetricSample> feature_samples();

}  // namespace berth::app
