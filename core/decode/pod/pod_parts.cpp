// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "decode/pod/pod_decoder.hpp"
#include "decode/selectors/labels.hpp"
#include "decode/selectors/selector_decoder.hpp"
#include "text/parse.hpp"

namespace berth::decode {
namespace {

std::vector<Symbol> intern_all(const Cursor& list, SymbolTable& symbols) {
  std::vector<Symbol> out;
  list.each([&](const Cursor& cursor) { out.push_back(intern_or_empty(cursor, symbols)); });
  return out;
}

/// pkg/registry/core/pod/strategy.go, applyMatchLabelKeysAndMismatchLabelKeys: the scheduler itself does not look at
/// these keys.
void merge_keys(const Cursor& term, const model::Pod& pod, SymbolTable& symbols, model::Selector& selector) {
  const Cursor match = term.sequence("matchLabelKeys");
  const Cursor mismatch = term.sequence("mismatchLabelKeys");
  merge_label_keys(selector, intern_all(match, symbols), pod.labels, model::Operator::in);
  merge_label_keys(selector, intern_all(mismatch, symbols), pod.labels, model::Operator::not_in);
}

model::AffinityTerm decode_term(const Cursor& term, const model::Pod& pod, bool defaulting, SymbolTable& symbols) {
  model::AffinityTerm out;
  const Cursor selector = term.mapping("labelSelector");
  const Cursor namespace_selector = term.mapping("namespaceSelector");
  const Cursor namespaces = term.sequence("namespaces");
  const Cursor topology_key = term.child("topologyKey");
  out.selector = decode_label_selector(selector, symbols);
  if (defaulting) merge_keys(term, pod, symbols, out.selector);
  out.namespace_selector = decode_label_selector(namespace_selector, symbols);
  out.namespaces = intern_all(namespaces, symbols);
  if (out.namespaces.empty() && !namespace_selector.present()) out.namespaces.push_back(pod.ns_symbol);
  out.topology_key = intern_or_empty(topology_key, symbols);
  return out;
}

void decode_terms(const Cursor& affinity, const model::Pod& pod, bool defaulting, SymbolTable& symbols,
                  model::SharedList<model::AffinityTerm>& required, model::SharedList<model::AffinityTerm>& preferred) {
  const Cursor hard = affinity.sequence("requiredDuringSchedulingIgnoredDuringExecution");
  const Cursor soft = affinity.sequence("preferredDuringSchedulingIgnoredDuringExecution");
  hard.each([&](const Cursor& term) { required.push_back(decode_term(term, pod, defaulting, symbols)); });
  soft.each([&](const Cursor& weighted) {
    const Cursor weight = weighted.child("weight");
    const Cursor term = weighted.mapping("podAffinityTerm");
    preferred.emplace_back(decode_term(term, pod, defaulting, symbols)).weight = weight.integer32().value_or(0);
  });
}

model::TaintEffect effect_of(std::string_view word) {
  if (word.empty()) return model::TaintEffect::any;
  if (word == "NoSchedule") return model::TaintEffect::no_schedule;
  if (word == "PreferNoSchedule") return model::TaintEffect::prefer_no_schedule;
  if (word == "NoExecute") return model::TaintEffect::no_execute;
  return model::TaintEffect::other;
}

model::TolerationOperator toleration_operator(std::string_view word, bool compares) {
  if (word.empty() || word == "Equal") return model::TolerationOperator::equal;
  if (word == "Exists") return model::TolerationOperator::exists;
  if (compares && word == "Lt") return model::TolerationOperator::lt;
  if (compares && word == "Gt") return model::TolerationOperator::gt;
  return model::TolerationOperator::other;
}

/// plugin/pkg/admission/defaulttolerationseconds/admission.go: five minutes on a node that is lost, unless the pod says
/// otherwise.
void add_default_tolerations(std::vector<model::Toleration>& tolerations, SymbolTable& symbols) {
  constexpr std::int64_t k_seconds = 300;
  const std::size_t own = tolerations.size();
  for (const std::string_view taint : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    const Symbol key = symbols.intern(taint);
    const bool said = std::any_of(
        tolerations.begin(), tolerations.begin() + static_cast<std::ptrdiff_t>(own), [&](const model::Toleration& t) {
          return (t.key == key || t.key == k_empty_symbol) &&
                 (t.effect == model::TaintEffect::no_execute || t.effect == model::TaintEffect::any);
        });
    if (!said)
      tolerations.push_back(
          {key, k_empty_symbol, model::TolerationOperator::exists, model::TaintEffect::no_execute, k_seconds});
  }
}

/// Sources that no policy judges by their content.
constexpr std::array<std::string_view, 9> k_plain_sources = {
    "configMap", "secret", "emptyDir", "hostPath", "projected", "downwardAPI", "image", "gitRepo", "name"};

model::PodVolume decode_volume(const Cursor& volume, std::string_view pod_name) {
  model::PodVolume out;
  const Cursor name = volume.child("name");
  out.name = name.string_or({});
  const Cursor claim = volume.mapping("persistentVolumeClaim");
  if (claim.present()) {
    const Cursor claim_name = claim.child("claimName");
    const Cursor read_only = claim.child("readOnly");
    out.kind = model::PodVolume::Kind::claim;
    out.source = claim_name.string_or({});
    out.read_only = read_only.boolean().value_or(false);
    return out;
  }
  if (volume.child("ephemeral").present()) {
    out.kind = model::PodVolume::Kind::ephemeral;
    out.source = std::string(pod_name) + "-" + out.name;
    return out;
  }
  volume.each_member([&](std::string_view key, const Cursor& source) {
    if (!source.present() || !source.value().is_mapping() || out.kind == model::PodVolume::Kind::inline_source) return;
    if (std::find(k_plain_sources.begin(), k_plain_sources.end(), key) != k_plain_sources.end()) return;
    const Cursor read_only = source.child("readOnly");
    out.kind = model::PodVolume::Kind::inline_source;
    out.source = text::to_json(volume.value());
    out.read_only = read_only.boolean().value_or(false);
  });
  return out;
}

}  // namespace

model::PodAffinity decode_pod_affinity(const Cursor& spec, const model::Pod& pod, bool defaulting,
                                       SymbolTable& symbols) {
  model::PodAffinity out;
  const Cursor affinity = spec.mapping("affinity");
  const Cursor with = affinity.mapping("podAffinity");
  const Cursor against = affinity.mapping("podAntiAffinity");
  out.present = with.present() || against.present();
  decode_terms(with, pod, defaulting, symbols, out.required, out.preferred);
  decode_terms(against, pod, defaulting, symbols, out.anti_required, out.anti_preferred);
  return out;
}

std::vector<model::SpreadConstraint> decode_spread(const Cursor& spec, const model::Pod& pod, bool defaulting,
                                                   const FieldGates& gates, SymbolTable& symbols) {
  std::vector<model::SpreadConstraint> out;
  const Cursor list = spec.sequence("topologySpreadConstraints");
  list.each([&](const Cursor& cursor) {
    model::SpreadConstraint& constraint = out.emplace_back();
    const Cursor selector = cursor.mapping("labelSelector");
    const Cursor keys = cursor.sequence("matchLabelKeys");
    const Cursor topology_key = cursor.child("topologyKey");
    const Cursor max_skew = cursor.child("maxSkew");
    const Cursor min_domains = cursor.child("minDomains");
    const Cursor action = cursor.child("whenUnsatisfiable");
    const Cursor affinity_policy = cursor.child("nodeAffinityPolicy");
    const Cursor taints_policy = cursor.child("nodeTaintsPolicy");
    constraint.selector = decode_label_selector(selector, symbols);
    if (gates.spread_match_label_keys) constraint.match_label_keys = intern_all(keys, symbols);
    if (defaulting) merge_label_keys(constraint.selector, constraint.match_label_keys, pod.labels, model::Operator::in);
    constraint.topology_key = intern_or_empty(topology_key, symbols);
    constraint.max_skew = max_skew.integer32().value_or(0);
    constraint.min_domains = min_domains.integer32().value_or(1);
    if (action.string_or({}) == "DoNotSchedule") constraint.action = model::SpreadAction::do_not_schedule;
    if (action.string_or({}) == "ScheduleAnyway") constraint.action = model::SpreadAction::schedule_anyway;
    constraint.honor_node_affinity = affinity_policy.string_or("Honor") == "Honor";
    constraint.honor_node_taints = taints_policy.string_or("Ignore") == "Honor";
  });
  return out;
}

std::vector<model::Toleration> decode_tolerations(const Cursor& spec, bool defaulting, const FieldGates& gates,
                                                  SymbolTable& symbols) {
  std::vector<model::Toleration> out;
  const Cursor list = spec.sequence("tolerations");
  list.each([&](const Cursor& cursor) {
    const Cursor key = cursor.child("key");
    const Cursor value = cursor.child("value");
    const Cursor op = cursor.child("operator");
    const Cursor effect = cursor.child("effect");
    const Cursor seconds = cursor.child("tolerationSeconds");
    out.push_back({intern_or_empty(key, symbols), intern_or_empty(value, symbols),
                   toleration_operator(op.string_or({}), gates.toleration_comparison), effect_of(effect.string_or({})),
                   seconds.integer().value_or(-1)});
  });
  if (defaulting) add_default_tolerations(out, symbols);
  return out;
}

std::vector<model::PodVolume> decode_volumes(const Cursor& spec, std::string_view pod_name, bool plain) {
  std::vector<model::PodVolume> out;
  const Cursor list = spec.sequence("volumes");
  list.each([&](const Cursor& cursor) {
    model::PodVolume volume = decode_volume(cursor, pod_name);
    if (plain || volume.kind != model::PodVolume::Kind::other) out.push_back(std::move(volume));
  });
  return out;
}

std::vector<model::NodeVolume> node_volumes_of(const model::Pod& pod, SymbolTable& symbols) {
  std::vector<model::NodeVolume> out;
  for (const model::PodVolume& volume : pod.volumes) {
    if (volume.kind == model::PodVolume::Kind::other) continue;
    const bool owned = volume.kind == model::PodVolume::Kind::ephemeral;
    out.push_back({pod.ns_symbol, symbols.intern(volume.source), owned ? symbols.intern(pod.name) : k_no_symbol,
                   owned ? symbols.intern(pod.uid.text()) : k_no_symbol, static_cast<std::uint32_t>(volume.kind), 0});
  }
  return out;
}

}  // namespace berth::decode
