// SPDX-License-Identifier: Apache-2.0
#include "framework/services/gates_service.hpp"

#include "berth/ext/gates.h"
#include "framework/plugin_instance.hpp"

namespace berth::framework {
namespace {

struct Gate {
  std::string_view name;
  bool config::Features::*is_on;
};
constexpr Gate k_gates[] = {{"DRAPrioritizedList", &config::Features::alternative_devices},
                            {"InPlacePodLevelResourcesVerticalScaling", &config::Features::pod_level_resize},
                            {"MatchLabelKeysInPodTopologySpread", &config::Features::spread_match_label_keys},
                            {"PodLevelResources", &config::Features::pod_level_resources},
                            {"TaintTolerationComparisonOperators", &config::Features::compares_tolerations},
                            {"VolumeLimitScaling", &config::Features::csi_driver_must_be_installed}};

std::int32_t is_on(void* ctx, berth_str gate) {
  const auto& host = static_cast<framework::PluginInstance*>(ctx)->host();
  const auto* const features = static_cast<const config::Features*>(host.state_of(k_gates_id));
  for (const Gate& each : k_gates)
    if (features != nullptr && each.name == framework::from_abi(gate)) return features->*each.is_on ? 1 : 0;
  return -1;
}

constexpr berth_gates_v1 k_table{sizeof(berth_gates_v1), 0, &is_on};

}  // namespace

framework::HostService gates_service(const config::Features& features) {
  return {k_gates_id, &k_table, const_cast<config::Features*>(&features)};  // only read
}

}  // namespace berth::framework
