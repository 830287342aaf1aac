// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "config/absent_plugins.hpp"
#include "config/plugin_catalog.hpp"
#include "config/resolve.hpp"

/// Plugins as a loader would offer them, with the points that kube-scheduler v1.36's plugins of these names have.
namespace berth::config::test {

inline CatalogPlugin plugin(std::string name, std::vector<Point> points, std::string schema = {}) {
  CatalogPlugin out;
  for (const Point point : points) out.points |= bit_of(point);
  out.file = "/plugins/" + name + ".so";
  out.name = std::move(name);
  out.args_schema = std::move(schema);
  return out;
}

inline PluginCatalog bundled_plugins() {
  using P = Point;
  return {{
      plugin("SchedulingGates", {P::pre_enqueue}),
      plugin("PrioritySort", {P::queue_sort}),
      plugin("NodeUnschedulable", {P::filter}),
      plugin("NodeName", {P::filter}),
      plugin("TaintToleration", {P::filter, P::pre_score, P::score}),
      plugin("NodeAffinity", {P::pre_filter, P::filter, P::pre_score, P::score}),
      plugin("NodePorts", {P::pre_filter, P::filter}),
      plugin("NodeResourcesFit", {P::pre_filter, P::filter, P::pre_score, P::score}),
      plugin("PodTopologySpread", {P::pre_filter, P::filter, P::pre_score, P::score}),
      plugin("InterPodAffinity", {P::pre_filter, P::filter, P::pre_score, P::score},
             R"({"type": "object", "additionalProperties": false, "properties": {
               "hardPodAffinityWeight": {"type": "integer", "default": 1, "minimum": 0, "maximum": 100},
               "ignorePreferredTermsOfExistingPods": {"type": "boolean", "default": false}}})"),
      plugin("NodeResourcesBalancedAllocation", {P::pre_score, P::score}),
      plugin("ImageLocality", {P::score}),
      plugin("DefaultBinder", {P::bind}),
      plugin("NodeDeclaredFeatures", {P::pre_filter, P::filter}),
      plugin("VolumeRestrictions", {P::pre_filter, P::filter}),
      plugin("NodeVolumeLimits", {P::pre_filter, P::filter}),
      plugin("VolumeBinding", {P::pre_filter, P::filter, P::pre_score, P::score, P::reserve, P::pre_bind},
             R"({"type": "object", "additionalProperties": false, "properties": {
               "bindTimeoutSeconds": {"type": "integer", "default": 600, "minimum": 0,
                 "errorMessage": "invalid BindTimeoutSeconds, should not be a negative value"},
               "shape": {"not": {}, "errorMessage":
                 "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"}}})"),
      plugin("VolumeZone", {P::pre_filter, P::filter}),
      plugin("DynamicResources",
             {P::pre_enqueue, P::pre_filter, P::filter, P::post_filter, P::score, P::reserve, P::pre_bind},
             R"({"type": "object", "additionalProperties": false, "properties": {
               "filterTimeout": {"type": "string", "format": "go-duration", "default": "10s", "formatMinimum": "0s",
                 "errorMessage": "must be zero or positive"},
               "bindingTimeout": {"type": "string", "format": "go-duration", "default": "600s", "formatMinimum": "1s",
                 "errorMessage": "must be at least 1 second"}}})"),
      plugin("DefaultPreemption", {P::pre_enqueue, P::post_filter},
             R"({"type": "object", "properties": {
               "minCandidateNodesPercentage": {"type": "integer"}, "minCandidateNodesAbsolute": {"type": "integer"}},
               "anyOf": [{"properties": {"minCandidateNodesPercentage": {"minimum": 1}}},
                         {"properties": {"minCandidateNodesAbsolute": {"minimum": 1}}}],
               "errorMessage": "minCandidateNodesPercentage cannot be zero at the same time as minCandidateNodesAbsolute"})"),
  }};
}

/// A file that was loaded and resolved, with everything that was said about it.
struct Resolved {
  Configuration configuration;
  RawConfiguration raw;
  std::string problems;  // as printed; empty when all is well
  std::string notes;
};

inline Resolved resolve_text(std::string_view text, const PluginCatalog& catalog = bundled_plugins(),
                             const AbsentPlugins& absent = AbsentPlugins::embedded()) {
  text::Diagnostics problems, notes;
  Resolved out;
  out.raw = load(text, "berth.yaml", problems);
  out.configuration = resolve(out.raw, catalog, absent, problems, &notes);
  out.problems = problems.render();
  out.notes = notes.render();
  return out;
}

/// `body` (indented by two spaces or more where nested) below the header of a KubeSchedulerConfiguration, from line 3
/// on.
inline std::string scheduler_configuration(std::string_view body) {
  return "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" + std::string(body);
}
inline std::string berth_configuration(std::string_view body) {
  return "apiVersion: config.berth.dev/v1alpha1\nkind: BerthConfiguration\n" + std::string(body);
}

/// "NodeName, TaintToleration 3": the plugins of a point in order, weights where there are any.
inline std::string order(const Profile& profile, Point point) {
  std::string out;
  for (const EnabledPlugin& enabled : profile.at(point)) {
    if (!out.empty()) out += ", ";
    out += enabled.name;
    if (enabled.weight != 0) out += ' ' + std::to_string(enabled.weight);
  }
  return out;
}

}  // namespace berth::config::test
