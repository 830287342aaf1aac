// SPDX-License-Identifier: Apache-2.0
#include "config/legacy/algorithm_source.hpp"

#include <spdlog/fmt/fmt.h>

#include "text/parse.hpp"

namespace berth::config {
namespace {

constexpr std::string_view k_default_namespace = "kube-system";

PolicyLocation read_location(const text::Value& value, const std::string& path, const Source& source) {
  Fields policy(source, value, path);
  PolicyLocation location;
  const text::Value* file = policy.mapping("file");
  const text::Value* map = policy.mapping("configMap");
  if (file != nullptr) {
    Fields fields(source, *file, policy.path_of("file"));
    if (!fields.read("path", location.file) || location.file.empty())
      source.report(fields.place_of("path"), "Required value", "the path of a Policy");
  }
  if (map != nullptr) {
    Fields fields(source, *map, policy.path_of("configMap"));
    location.config_map_namespace = k_default_namespace;
    fields.read("namespace", location.config_map_namespace);
    if (!fields.read("name", location.config_map_name) || location.config_map_name.empty())
      source.report(fields.place_of("name"), "Required value", "the name of a ConfigMap with the key policy.cfg");
  }
  if ((file != nullptr) == (map != nullptr))
    source.report(policy.place(), "must have either file or configMap", "write {file: {path: /etc/policy.cfg}}, say");
  return location;
}

void move_to(Tree& tree, text::Position position) {
  tree.position = position;
  for (TreeMember& member : tree.members) {
    member.key_position = position;
    move_to(member.value, position);
  }
  for (Tree& element : tree.elements) move_to(element, position);
}

}  // namespace

AlgorithmSource read_algorithm_source(const text::Value& value, const Source& source) {
  AlgorithmSource out;
  Fields fields(source, value, "algorithmSource");
  out.place = fields.place();
  fields.read("provider", out.provider);
  if (const text::Value* policy = fields.mapping("policy")) {
    const std::size_t problems_before = source.diagnostics.size();
    PolicyLocation location = read_location(*policy, fields.path_of("policy"), source);
    if (source.diagnostics.size() == problems_before) out.policy = std::move(location);
  }
  if (!out.provider.empty() && out.policy)
    source.report(fields.place(), "has both provider and policy", "a scheduler has one algorithm; leave one out");
  return out;
}

std::optional<PolicyProfile> fetch_policy(const AlgorithmSource& algorithm, const Source& source,
                                          const ReadPolicy& read, const PolicyContext& context,
                                          text::Diagnostics& notes) {
  const PolicyLocation& location = *algorithm.policy;
  const std::string name =
      !location.file.empty()
          ? location.file
          : fmt::format("configmap {}/{} policy.cfg", location.config_map_namespace, location.config_map_name);
  const Result<std::string> text = read ? read(location) : Result<std::string>(Error{"cannot be read from here"});
  if (!text.ok()) {
    source.report(algorithm.place, fmt::format("{}: {}", name, text.error().message));
    return std::nullopt;
  }
  const Source policy_source{name, source.diagnostics};
  const std::size_t problems_before = source.diagnostics.size();
  const std::vector<text::Document> documents = text::parse(*text, name, source.diagnostics);
  if (source.diagnostics.size() != problems_before) return std::nullopt;
  if (documents.size() != 1 || !is_policy(documents.front().root())) {
    policy_source.report({{1, 1}, {}}, "is no Policy", "kind: Policy and apiVersion: v1 are what makes it one");
    return std::nullopt;
  }
  text::report_duplicates(documents.front(), documents.front().root(), source.diagnostics);
  PolicyProfile profile = read_policy(documents.front().root(), policy_source, context, notes);
  for (RawPluginSet& set : profile.sets)
    for (RawPlugin& plugin : set.enabled) plugin.place = algorithm.place;
  move_to(profile.plugin_config, algorithm.place.position);
  if (profile.extenders) move_to(*profile.extenders, algorithm.place.position);
  return profile;
}

}  // namespace berth::config
