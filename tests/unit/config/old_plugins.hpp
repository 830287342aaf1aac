// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "test_plugins.hpp"

namespace berth::config::test {

/// The bundled plugins and those of old policies, with the points of plugins/legacy, and one of a user's own.
inline PluginCatalog plugins_of_old() {
  using P = Point;
  PluginCatalog catalog = bundled_plugins();
  const auto add = [&](std::initializer_list<const char*> names, const std::vector<Point>& points) {
    for (const char* const name : names) catalog.plugins.push_back(plugin(name, points));
  };
  add({"CheckNodeCondition",
       "CheckNodeMemoryPressure",
       "CheckNodeDiskPressure",
       "CheckNodePIDPressure",
       "CheckNodeUnschedulable",
       "GeneralPredicates",
       "PodFitsResources",
       "HostName",
       "PodFitsHostPorts",
       "MatchNodeSelector",
       "PodToleratesNodeTaints",
       "PodToleratesNodeNoExecuteTaints",
       "NoDiskConflict",
       "NoVolumeZoneConflict",
       "MaxCSIVolumeCountPred",
       "MaxEBSVolumeCount",
       "MaxGCEPDVolumeCount",
       "MaxAzureDiskVolumeCount",
       "MaxCinderVolumeCount",
       "EBSLimits",
       "GCEPDLimits",
       "AzureDiskLimits",
       "CinderLimits"},
      {P::filter});
  add({"MatchInterPodAffinity", "EvenPodsSpread"}, {P::pre_filter, P::filter});
  add({"CheckVolumeBinding"}, {P::pre_filter, P::filter, P::reserve, P::pre_bind});
  add({"LeastRequestedPriority", "MostRequestedPriority", "BalancedResourceAllocation",
       "RequestedToCapacityRatioPriority", "NodeAffinityPriority", "TaintTolerationPriority", "ImageLocalityPriority",
       "NodePreferAvoidPodsPriority", "ResourceLimitsPriority", "EqualPriority", "NodePreferAvoidPods",
       "NodeResourceLimits", "NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "RequestedToCapacityRatio"},
      {P::score});
  add({"SelectorSpreadPriority", "ServiceSpreadingPriority", "InterPodAffinityPriority", "EvenPodsSpreadPriority",
       "SelectorSpread", "BalancedResourceAllocationWithVolumes"},
      {P::pre_score, P::score});
  add({"NodeLabel"}, {P::filter, P::score});
  add({"ServiceAffinity"}, {P::pre_filter, P::filter, P::pre_score, P::score});
  add({"Mine"}, {P::pre_score, P::score, P::reserve});
  return catalog;
}

}  // namespace berth::config::test
