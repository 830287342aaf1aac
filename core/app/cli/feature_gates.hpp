// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/features.hpp"
#include "text/diagnostics.hpp"

namespace berth::app {

/// What --feature-gates sets at an emulated version. Immutable.
///
/// Three kinds of gates: those that berth follows; those of a scheduler that berth knows in one setting only, about
/// which a setting that differs is a warning; and those of other programs, which change nothing here.
/// Source: kubernetes v1.36 component-base/featuregate. Departs: unknown names are errors.
class FeatureGates {
 public:
  /// As v1.36 has them without a flag.
  FeatureGates() = default;
  /// `settings`: NAME=true or kube:NAME=false each; the last of a name counts. `minor`: of the emulated version, 33 to
  /// 36. `warnings` gets what differs from berth's behaviour or is about to disappear; `diagnostics` what would end
  /// kube-scheduler's start: unknown names, gates newer than the emulated version, locked gates set otherwise, gates
  /// that are on without those they need.
  static FeatureGates read(const std::vector<std::string>& settings, int minor, text::Diagnostics& warnings,
                           text::Diagnostics& diagnostics);

  /// True when the gate is set so, or is so by default at the emulated version. Requires: v1.36 knows the gate.
  bool enabled(std::string_view name) const;
  /// What of it the scheduler itself listens to.
  config::Features features() const;
  struct State {
    std::string_view name, stage;  // "PodLevelResources", "ALPHA"
    bool is_on = false;
  };
  /// As what berth behaves, gate by gate, without those that the emulated version does not have.
  std::vector<State> states() const;

 private:
  struct Gate;
  static const std::vector<Gate>& of_a_scheduler();
  bool behaves_as(const Gate& gate) const;
  void judge(const std::string& name, bool value, text::Diagnostics& warnings, text::Diagnostics& diagnostics) const;
  std::string differing(const std::string& stage) const;

  int minor_ = 36;
  std::map<std::string, bool, std::less<>> set_;
};

/// What BalanceAttachedNodeVolumes is set to, a gate of v1.11 to v1.21 that priorities of old listen to.
bool balances_volumes(const std::vector<std::string>& settings);

}  // namespace berth::app
