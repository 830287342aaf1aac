// SPDX-License-Identifier: Apache-2.0
#include "app/cli/feature_gates.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <optional>

#include "app/cli/go_flags.hpp"
#include "app/cli/known_gates.hpp"

namespace berth::app {
namespace {

constexpr std::string_view k_dra = "DynamicResourceAllocation";
// Whatever they are set to, the gates of a stage are.
constexpr std::string_view k_all_alpha = "AllAlpha", k_all_beta = "AllBeta";
/// Of old, and what a Policy of that time meant depends on it.
constexpr std::string_view k_balance_volumes = "BalanceAttachedNodeVolumes";

using Settings = std::map<std::string, bool, std::less<>>;  // the last of a name holds

Settings read_settings(const std::vector<std::string>& settings, text::Diagnostics& diagnostics) {
  Settings out;
  for (std::string setting : settings) {
    if (const std::size_t colon = setting.find(':'); colon != std::string::npos) {
      if (setting.substr(0, colon) != "kube") {
        diagnostics.add(fmt::format("--feature-gates: \"{}\": the component is kube, or not named", setting));
        continue;
      }
      setting.erase(0, colon + 1);
    }
    const std::size_t equals = std::min(setting.find('='), setting.size());
    const std::string name = setting.substr(0, equals);
    const std::optional<bool> value = read_bool(std::string_view(setting).substr(std::min(equals + 1, setting.size())));
    if (!value)
      diagnostics.add(fmt::format("--feature-gates: \"{}\" is not NAME=true or NAME=false", setting));
    else if (name != k_balance_volumes && !is_known_gate(name))
      diagnostics.add(fmt::format("--feature-gates: there is no feature gate \"{}\" in kube-scheduler v1.36", name));
    else
      out[name] = *value;
  }
  return out;
}

}  // namespace

/// A gate that changes what a scheduler decides or shows.
struct FeatureGates::Gate {
  std::string_view name;
  std::optional<bool> fixed = std::nullopt;  // berth behaves so, whatever is set; absent: as is set
  std::array<std::string_view, 2> needs = {};
};

const std::vector<FeatureGates::Gate>& FeatureGates::of_a_scheduler() {
  static const std::vector<Gate> gates = {
      {"SchedulerQueueingHints", true},
      {k_dra, true},
      {"SchedulerAsyncPreemption"},
      {"SchedulerAsyncAPICalls", false},
      {"SchedulerPopFromBackoffQ"},
      {"OpportunisticBatching", true},
      {"NominatedNodeNameForExpectation"},
      {"TaintTolerationComparisonOperators"},
      {"PodLevelResources"},
      {"InPlacePodVerticalScaling", true},
      {"InPlacePodLevelResourcesVerticalScaling"},
      {"MatchLabelKeysInPodTopologySpread"},
      {"VolumeLimitScaling"},
      {"DRAPrioritizedList", std::nullopt, {k_dra}},
      {"DRAExtendedResource", true, {k_dra}},
      {"DRAConsumableCapacity", true, {k_dra}},
      {"DRADeviceTaints", true, {k_dra}},
      {"DRAPartitionableDevices", true, {k_dra}},
      {"DRADeviceBindingConditions", true, {k_dra, "DRAResourceClaimDeviceStatus"}},
      {"DRAResourceClaimDeviceStatus", true},
      {"DRASchedulerFilterTimeout", true, {k_dra}},
      {"DRAResourceClaimGranularStatusAuthorization", true, {k_dra, "DRAResourceClaimDeviceStatus"}},
      {"DRADeviceTaintRules", false, {"DRADeviceTaints"}},
      {"DRAListTypeAttributes", false, {k_dra}},
      {"DRAWorkloadResourceClaims", false, {k_dra, "GenericWorkload"}},
      {"DRANodeAllocatableResources", false, {k_dra}},
      {"NodeDeclaredFeatures", true},
      {"GenericWorkload", false},
      {"GangScheduling", std::nullopt, {"GenericWorkload"}},
      {"TopologyAwareWorkloadScheduling", std::nullopt, {"GenericWorkload"}},
      {"WorkloadAwarePreemption", false, {"GangScheduling"}},
      {"StorageCapacityScoring", false},
      {"CoordinatedLeaderElection", false},
      {"ComponentStatusz"},
      {"ComponentFlagz"},
      {"WatchListClient", true},
      {"InOrderInformers", true},
      {"ClientsAllowCARotation", true},
      {"ClientsAllowCBOR", false},
      {"ClientsPreferCBOR", false},
      {k_all_alpha},
      {k_all_beta}};
  return gates;
}

bool FeatureGates::enabled(std::string_view name) const {
  if (const auto own = set_.find(name); own != set_.end()) return own->second;
  const GateStage stage = gate_stage(name, minor_);
  if (stage.stage == Stage::none) return false;
  const bool is_whole_stage = name == k_all_alpha || name == k_all_beta;
  const auto all = set_.find(stage.stage == Stage::alpha ? k_all_alpha : stage.stage == Stage::beta ? k_all_beta : "");
  return all == set_.end() || is_whole_stage ? stage.is_on : all->second;
}

bool FeatureGates::behaves_as(const Gate& gate) const { return gate.fixed.value_or(enabled(gate.name)); }

config::Features FeatureGates::features() const {
  config::Features out;
  out.compares_tolerations = enabled("TaintTolerationComparisonOperators");
  out.pod_level_resources = enabled("PodLevelResources");
  out.pod_level_resize = enabled("InPlacePodLevelResourcesVerticalScaling");
  out.spread_match_label_keys = enabled("MatchLabelKeysInPodTopologySpread");
  out.alternative_devices = enabled("DRAPrioritizedList");
  out.csi_driver_must_be_installed = enabled("VolumeLimitScaling");
  out.pops_from_backoff = enabled("SchedulerPopFromBackoffQ");
  out.evicts_in_background = enabled("SchedulerAsyncPreemption");
  out.nominates_before_slow_bindings = enabled("NominatedNodeNameForExpectation");
  return out;
}

std::vector<FeatureGates::State> FeatureGates::states() const {
  std::vector<State> out;
  for (const Gate& gate : of_a_scheduler()) {
    const Stage stage = gate_stage(gate.name, minor_).stage;
    if (stage != Stage::none) out.push_back({gate.name, stage_name(stage), behaves_as(gate)});
  }
  return out;
}

/// The gates that are otherwise than berth behaves without being set by name: of one stage, or with "" of all, as
/// "A=true, B=false" with what berth does.
std::string FeatureGates::differing(const std::string& all_of_stage) const {
  std::string names;
  for (const Gate& gate : of_a_scheduler()) {
    const Stage stage = gate_stage(gate.name, minor_).stage;
    const std::string_view all = stage == Stage::alpha ? k_all_alpha : stage == Stage::beta ? k_all_beta : "";
    const bool is_by_stage = set_.contains(all);
    if (set_.contains(gate.name) || enabled(gate.name) == behaves_as(gate)) continue;
    if (all_of_stage.empty() ? is_by_stage : !is_by_stage || all != all_of_stage) continue;
    names += fmt::format("{}{}={}", names.empty() ? "" : ", ", gate.name, behaves_as(gate));
  }
  return names;
}

void FeatureGates::judge(const std::string& name, bool value, text::Diagnostics& warnings,
                         text::Diagnostics& diagnostics) const {
  if (name == k_balance_volumes) return;  // who reads the configuration says whether it does anything
  if (name == k_all_alpha || name == k_all_beta) {
    if (const std::string names = differing(name); !names.empty())
      warnings.add(fmt::format("--feature-gates: {}={} has no effect: berth does as with {}", name, value, names));
    return;
  }
  const GateStage stage = gate_stage(name, minor_);
  const auto gate =
      std::find_if(of_a_scheduler().begin(), of_a_scheduler().end(), [&](const Gate& one) { return one.name == name; });
  if (stage.stage == Stage::none)
    diagnostics.add(
        fmt::format("--feature-gates: cannot set feature gate {} to {}, feature is PreAlpha at emulated version 1.{}",
                    name, value, minor_));
  else if (stage.is_locked && stage.is_on != value)
    diagnostics.add(fmt::format("--feature-gates: cannot set feature gate {} to {}, feature is locked to {}", name,
                                value, stage.is_on));
  else if (gate == of_a_scheduler().end())
    warnings.add(fmt::format("--feature-gates: {}={} changes nothing in a scheduler", name, value));
  else if (behaves_as(*gate) != value)
    warnings.add(
        fmt::format("--feature-gates: {0}={1} has no effect: berth does as with {0}={2}", name, value, !value));
  else if (stage.stage == Stage::ga)
    warnings.add(fmt::format("--feature-gates: {} is GA: a later version will not know the gate any more", name));
}

FeatureGates FeatureGates::read(const std::vector<std::string>& settings, int minor, text::Diagnostics& warnings,
                                text::Diagnostics& diagnostics) {
  FeatureGates out;
  out.minor_ = minor;
  out.set_ = read_settings(settings, diagnostics);
  if (const std::string names = out.differing(""); !names.empty())
    warnings.add(
        fmt::format("--emulated-version: 1.{} is not emulated in everything: berth does as with {}", minor, names));
  for (const auto& [name, value] : out.set_) out.judge(name, value, warnings, diagnostics);
  for (const Gate& gate : of_a_scheduler())
    for (const std::string_view needed : gate.needs)
      if (!needed.empty() && out.enabled(gate.name) && !out.enabled(needed))
        diagnostics.add(fmt::format("--feature-gates: {} is on, but {}, which it needs, is off", gate.name, needed));
  return out;
}

bool balances_volumes(const std::vector<std::string>& settings) {
  text::Diagnostics diagnostics;  // reported by FeatureGates::read()
  const Settings set = read_settings(settings, diagnostics);
  const auto found = set.find(k_balance_volumes);
  return found != set.end() && found->second;
}

}  // namespace berth::app
