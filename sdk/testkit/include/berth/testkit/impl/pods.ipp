// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <berth/testkit/pods.hpp>

namespace berth::testkit {

BERTH_TESTKIT_INLINE std::uint32_t effect_of(const std::string& effect) {
  if (effect.empty()) return BERTH_EFFECT_ANY;
  if (effect == "NoSchedule") return BERTH_EFFECT_NO_SCHEDULE;
  if (effect == "PreferNoSchedule") return BERTH_EFFECT_PREFER_NO_SCHEDULE;
  if (effect == "NoExecute") return BERTH_EFFECT_NO_EXECUTE;
  return BERTH_EFFECT_OTHER;
}

BERTH_TESTKIT_INLINE berth_host_port_v1 port_of(FakeHost& host, const PortSpec& port) {
  return {host.id(port.ip), host.id(port.protocol), port.port, port.ip == "0.0.0.0" ? 1u : 0u};
}

namespace detail {
BERTH_TESTKIT_INLINE const void* unreadable() {
  static void* const pages = ::mmap(nullptr, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}
}  // namespace detail

namespace detail {
BERTH_TESTKIT_INLINE void trap_fields(berth_pod_v1& v, std::uint64_t groups, bool has_labels, bool has_requests) {
  if (unreadable() == nullptr) return;
  const auto lacks = [&](std::uint64_t of) { return (groups & of) == 0; };
  const berth_str text{static_cast<const char*>(unreadable()), 1};
  std::uint32_t one = 0;
  if (lacks(BERTH_POD_REQUESTS)) trap_list(v.resources, v.resource_count);
  if (!has_requests) trap_list(v.requests, v.request_count);
  if (lacks(BERTH_POD_LABELS) && !has_labels) trap_list(v.labels, v.label_count);
  if (lacks(BERTH_POD_TOLERATIONS)) trap_list(v.tolerations, v.toleration_count);
  if (lacks(BERTH_POD_PRIORITY)) v.priority = BERTH_NOT_REQUESTED;
  if (lacks(BERTH_POD_IDENTITY | BERTH_POD_STORAGE | BERTH_POD_CLAIMS)) v.name = v.uid = text;
  if (lacks(BERTH_POD_NODE_SELECTION)) trap_list(v.node_selection, one);
  if (lacks(BERTH_POD_AFFINITY)) trap_list(v.affinity, one);
  if (lacks(BERTH_POD_PORTS)) trap_list(v.host_ports, v.host_port_count);
  if (lacks(BERTH_POD_IMAGES)) trap_list(v.images, v.image_count);
  if (lacks(BERTH_POD_IMAGES)) v.container_count = BERTH_NOT_REQUESTED;
  if (lacks(BERTH_POD_SPREAD)) trap_list(v.spread, v.spread_count);
  if (lacks(BERTH_POD_OWNER)) v.owner_api_version = v.owner_kind = v.owner_name = v.owner_uid = text;
  if (lacks(BERTH_POD_GATES)) trap_list(v.gates, v.gate_count);
  if (lacks(BERTH_POD_SPEC_FLAGS)) v.spec_flags = BERTH_NOT_REQUESTED;
  if (lacks(BERTH_POD_VOLUMES | BERTH_POD_STORAGE)) trap_list(v.volumes, v.volume_count);
  if (lacks(BERTH_POD_RESOURCE_CLAIMS)) trap_list(v.resource_claims, v.resource_claim_count);
  if (lacks(BERTH_POD_CLAIMS)) trap_list(v.claims, v.claim_count);
  if (lacks(BERTH_POD_CLAIMS)) trap_list(v.container_names, v.container_name_count);
  if (lacks(BERTH_POD_CLAIMS | BERTH_POD_CONTAINERS)) trap_list(v.containers, v.resource_container_count);
  if (lacks(BERTH_POD_CLAIMS | BERTH_POD_CONTAINERS)) trap_list(v.overhead, v.overhead_count);
  if (lacks(BERTH_POD_ANNOTATIONS)) trap_list(v.annotations, v.annotation_count);
  if (lacks(BERTH_POD_GROUP)) v.group = text;
  if (lacks(BERTH_POD_STATUS)) v.phase = BERTH_NOT_REQUESTED;
  if (lacks(BERTH_POD_STATUS)) v.start_ns = v.deletion_ns = BERTH_NOT_REQUESTED;
  if (lacks(BERTH_POD_CREATED)) v.created_ns = BERTH_NOT_REQUESTED;
  if (lacks(BERTH_POD_SCHEDULING)) v.preemption_policy = BERTH_NOT_REQUESTED;
  if (lacks(BERTH_POD_SCHEDULING)) v.scheduler_name = text;
  if (lacks(BERTH_POD_QOS)) v.qos = BERTH_NOT_REQUESTED;
  if (lacks(BERTH_POD_JSON)) v.json = text;
}
}  // namespace detail

BERTH_TESTKIT_INLINE PodRecord::PodRecord(FakeHost& host, const PodSpec& spec, std::uint64_t extra_groups)
    : host_(host), spec_(std::make_unique<PodSpec>(spec)), groups_(host.pod_groups | extra_groups) {
  raw_.struct_size = sizeof raw_;
  if (host.traps_unasked_fields) detail::trap_fields(raw_, groups_, !host.pod_labels.empty(), !host.requests.empty());
  if (spec_->uid.empty()) spec_->uid = spec_->name + "-uid";
  fill_scalars();
  fill_lists();
  fill_resources();
  if (wants(BERTH_POD_CONTAINERS)) fill_containers();
  fill_selection();
  fill_spread_and_affinity();
}

BERTH_TESTKIT_INLINE std::vector<berth_label_v1> PodRecord::labels_of(const Strings& labels) {
  std::vector<berth_label_v1> out;
  for (const auto& [key, value] : labels) out.push_back({host_.id(key), host_.id(value)});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return out;
}

BERTH_TESTKIT_INLINE berth_requirement_v1 PodRecord::requirement_of(const RequirementSpec& spec) {
  static const std::map<std::string, std::uint32_t> ops = {
      {"In", BERTH_OP_IN},         {"NotIn", BERTH_OP_NOT_IN},
      {"Exists", BERTH_OP_EXISTS}, {"DoesNotExist", BERTH_OP_DOES_NOT_EXIST},
      {"Gt", BERTH_OP_GT},         {"Lt", BERTH_OP_LT}};
  berth_requirement_v1 out{};
  out.key = host_.id(spec.key);
  out.op = ops.at(spec.op);
  std::vector<berth_id> values;
  for (const std::string& value : spec.values) values.push_back(host_.id(value));
  if (out.op == BERTH_OP_GT || out.op == BERTH_OP_LT) out.number = std::stoll(spec.values.at(0));
  std::tie(out.values, out.value_count) = keep(std::move(values));
  return out;
}

BERTH_TESTKIT_INLINE std::pair<const berth_requirement_v1*, std::uint32_t> PodRecord::requirements_of(
    const std::vector<RequirementSpec>& specs) {
  std::vector<berth_requirement_v1> out;
  for (const RequirementSpec& spec : specs) out.push_back(requirement_of(spec));
  return keep(std::move(out));
}

BERTH_TESTKIT_INLINE berth_selector_v1 PodRecord::selector_of(const std::optional<SelectorSpec>& spec) {
  berth_selector_v1 out{};
  if (!spec) return out;
  out.kind = BERTH_SELECTOR_MATCH;
  std::tie(out.requirements, out.requirement_count) = requirements_of(spec->requirements);
  return out;
}

BERTH_TESTKIT_INLINE std::pair<const berth_node_term_v1*, std::uint32_t> PodRecord::terms_of(
    const std::vector<TermSpec>& specs) {
  std::vector<berth_node_term_v1> out;
  for (const TermSpec& spec : specs) {
    berth_node_term_v1 term{};
    std::tie(term.expressions, term.expression_count) = requirements_of(spec.expressions);
    std::tie(term.fields, term.field_count) = requirements_of(spec.fields);
    term.weight = spec.weight;
    term.invalid = spec.error.empty() ? 0 : 1;
    term.error = str(spec.error);
    out.push_back(term);
  }
  return keep(std::move(out));
}

BERTH_TESTKIT_INLINE std::pair<const berth_affinity_term_v1*, std::uint32_t> PodRecord::affinity_terms_of(
    const std::vector<AffinityTermSpec>& specs) {
  std::vector<berth_affinity_term_v1> out;
  for (const AffinityTermSpec& spec : specs) {
    berth_affinity_term_v1 term{};
    term.selector = selector_of(spec.selector);
    term.namespace_selector = selector_of(spec.namespace_selector);
    std::vector<berth_id> namespaces;
    for (const std::string& ns : spec.namespaces) namespaces.push_back(host_.id(ns));
    std::tie(term.namespaces, term.namespace_count) = keep(std::move(namespaces));
    term.topology_key = host_.id(spec.topology_key);
    term.weight = spec.weight;
    out.push_back(term);
  }
  return keep(std::move(out));
}

BERTH_TESTKIT_INLINE void PodRecord::fill_scalars() {
  const PodSpec& s = *spec_;
  if (wants(BERTH_POD_NAMESPACE)) raw_.ns = host_.id(s.ns);
  if (wants(BERTH_POD_PRIORITY)) raw_.priority = s.priority;
  if (wants(BERTH_POD_IDENTITY)) raw_.name = str(s.name), raw_.uid = str(s.uid);
  if (wants(BERTH_POD_SPEC_FLAGS)) raw_.spec_flags = s.spec_flags;
  if (wants(BERTH_POD_STATUS)) {
    raw_.phase = s.phase;
    raw_.start_ns = s.start_ns;
    raw_.deletion_ns = s.deletion_ns;
  }
  if (wants(BERTH_POD_CREATED)) raw_.created_ns = s.created_ns;
  if (wants(BERTH_POD_SCHEDULING)) {
    raw_.preemption_policy = s.preemption_policy;
    raw_.scheduler_name = str(s.scheduler_name);
  }
  if (wants(BERTH_POD_QOS)) raw_.qos = s.qos;
  if (wants(BERTH_POD_GROUP)) raw_.group = str(s.group);
  if (wants(BERTH_POD_JSON)) raw_.json = str(s.json);
  if (wants(BERTH_POD_PLACEMENT)) {
    raw_.node_name = s.node_name.empty() ? 0 : host_.id(s.node_name);
    raw_.nominated_node = s.nominated_node.empty() ? 0 : host_.id(s.nominated_node);
  }
  if (wants(BERTH_POD_OWNER)) {
    raw_.owner_api_version = str(s.owner_api_version);
    raw_.owner_kind = str(s.owner_kind);
    raw_.owner_name = str(s.owner_name);
    raw_.owner_uid = str(s.owner_uid);
  }
}

BERTH_TESTKIT_INLINE void PodRecord::fill_lists() {
  const PodSpec& s = *spec_;
  if (wants(BERTH_POD_LABELS) || !host_.pod_labels.empty()) {
    Strings labels = s.labels;
    if (!wants(BERTH_POD_LABELS))
      std::erase_if(labels, [&](const auto& label) { return host_.pod_labels.count(label.first) == 0; });
    std::tie(raw_.labels, raw_.label_count) = keep(labels_of(labels));
  }
  if (wants(BERTH_POD_ANNOTATIONS)) std::tie(raw_.annotations, raw_.annotation_count) = keep(labels_of(s.annotations));
  if (wants(BERTH_POD_TOLERATIONS)) {
    std::vector<berth_toleration_v1> out;
    for (const TolerationSpec& t : s.tolerations) {
      const std::uint32_t op = t.op == "Equal"    ? BERTH_TOLERATION_EQUAL
                               : t.op == "Exists" ? BERTH_TOLERATION_EXISTS
                               : t.op == "Lt"     ? BERTH_TOLERATION_LT
                               : t.op == "Gt"     ? BERTH_TOLERATION_GT
                                                  : BERTH_TOLERATION_OTHER;
      out.push_back({host_.id(t.key), host_.id(t.value), op, effect_of(t.effect), -1});
    }
    std::tie(raw_.tolerations, raw_.toleration_count) = keep(std::move(out));
  }
  if (wants(BERTH_POD_PORTS)) {
    std::vector<berth_host_port_v1> out;
    for (const PortSpec& p : s.ports) out.push_back(port_of(host_, p));
    std::tie(raw_.host_ports, raw_.host_port_count) = keep(std::move(out));
  }
  if (wants(BERTH_POD_IMAGES)) {
    std::vector<berth_image_ref_v1> out;
    for (const ImageRefSpec& i : s.images) out.push_back({host_.id(i.name), i.kind});
    std::tie(raw_.images, raw_.image_count) = keep(std::move(out));
    raw_.container_count = s.containers;
  }
  if (wants(BERTH_POD_GATES)) {
    std::vector<berth_str> out;
    for (const std::string& g : s.gates) out.push_back(str(g));
    std::tie(raw_.gates, raw_.gate_count) = keep(std::move(out));
  }
  if (wants(BERTH_POD_VOLUMES) || wants(BERTH_POD_STORAGE)) fill_volumes();
  if (wants(BERTH_POD_RESOURCE_CLAIMS)) {
    std::vector<berth_str> out;
    for (const std::string& c : s.resource_claims) out.push_back(str(c));
    std::tie(raw_.resource_claims, raw_.resource_claim_count) = keep(std::move(out));
  }
  if (wants(BERTH_POD_CLAIMS) && !s.claims.empty()) fill_claims();
}

BERTH_TESTKIT_INLINE void PodRecord::fill_claims() {
  std::vector<berth_pod_claim_v1> out;
  for (const PodClaimSpec& c : spec_->claims)
    out.push_back({str(c.name), str(c.claim), str(c.claim_template), c.generated ? str(*c.generated) : berth_str{},
                   c.generated ? std::uint32_t{BERTH_POD_CLAIM_HAS_STATUS} : 0u, 0});
  std::tie(raw_.claims, raw_.claim_count) = keep(std::move(out));
  raw_.name = str(spec_->name);
  raw_.uid = str(spec_->uid);
  raw_.ns = host_.id(spec_->ns);
}

BERTH_TESTKIT_INLINE void PodRecord::fill_volumes() {
  std::vector<berth_volume_v1> out;
  bool claims = false;
  for (const VolumeSpec& v : spec_->volumes) {
    claims = claims || v.kind == BERTH_VOLUME_CLAIM || v.kind == BERTH_VOLUME_EPHEMERAL;
    if (wants(BERTH_POD_VOLUMES) || v.kind != BERTH_VOLUME_OTHER)
      out.push_back({str(v.name), str(v.source), v.kind, v.read_only ? 1u : 0u});
  }
  std::tie(raw_.volumes, raw_.volume_count) = keep(std::move(out));
  if (!wants(BERTH_POD_STORAGE) || !claims) return;
  raw_.name = str(spec_->name);
  raw_.uid = str(spec_->uid);
}

BERTH_TESTKIT_INLINE void PodRecord::fill_resources() {
  std::vector<std::int64_t> sums;
  for (const std::string& name : host_.requests) {
    const auto at = std::find_if(spec_->resources.begin(), spec_->resources.end(),
                                 [&](const ResourceSpec& r) { return r.name == name; });
    sums.push_back(at == spec_->resources.end() ? 0 : at->request);
  }
  if (!sums.empty()) std::tie(raw_.requests, raw_.request_count) = keep(std::move(sums));
  if (!wants(BERTH_POD_REQUESTS)) return;
  std::vector<berth_resource_v1> out;
  for (const char* always : {"cpu", "memory", "ephemeral-storage"}) out.push_back({host_.id(always), 0, 0, 0, 0});
  for (const ResourceSpec& r : spec_->resources) {
    const berth_resource_v1 record{host_.id(r.name), r.flags, r.request, r.effective, r.scoring};
    const auto at = std::find_if(out.begin(), out.end(), [&](const auto& o) { return o.name == record.name; });
    if (at != out.end()) {
      *at = record;
    } else {
      out.push_back(record);
    }
  }
  std::tie(raw_.resources, raw_.resource_count) = keep(std::move(out));
}

BERTH_TESTKIT_INLINE std::pair<const berth_container_amount_v1*, std::uint32_t> PodRecord::amounts_of(
    const std::map<std::string, std::int64_t>& requests, const std::map<std::string, std::int64_t>& limits) {
  std::map<std::string, berth_container_amount_v1> by_name;
  const auto add = [&](const auto& amounts, std::uint32_t flag, std::int64_t berth_container_amount_v1::*field) {
    for (const auto& [name, amount] : amounts) {
      berth_container_amount_v1& entry = by_name[name];
      entry.name = host_.id(name);
      entry.flags |= flag;
      entry.*field = amount;
    }
  };
  add(requests, BERTH_AMOUNT_REQUEST, &berth_container_amount_v1::request);
  add(limits, BERTH_AMOUNT_LIMIT, &berth_container_amount_v1::limit);
  std::vector<berth_container_amount_v1> out;
  for (const auto& [name, entry] : by_name) out.push_back(entry);
  return keep(std::move(out));
}

BERTH_TESTKIT_INLINE void PodRecord::fill_containers() {
  std::vector<berth_container_v1> out;
  for (const ContainerSpec& c : spec_->container_resources) {
    const auto [amounts, count] = amounts_of(c.requests, c.limits);
    out.push_back({amounts, count, c.kind});
  }
  std::tie(raw_.containers, raw_.resource_container_count) = keep(std::move(out));
  std::tie(raw_.overhead, raw_.overhead_count) = amounts_of(spec_->overhead, {});
}

BERTH_TESTKIT_INLINE void PodRecord::fill_selection() {
  if (!wants(BERTH_POD_NODE_SELECTION)) return;
  const PodSpec& s = *spec_;
  selection_.struct_size = sizeof selection_;
  if (s.node_selector) {
    selection_.has_selector = 1;
    std::tie(selection_.selector, selection_.selector_count) = keep(labels_of(*s.node_selector));
  }
  if (s.required) {
    selection_.has_required = 1;
    std::tie(selection_.required, selection_.required_count) = terms_of(*s.required);
  }
  if (s.preferred) {
    selection_.has_preferred = 1;
    std::tie(selection_.preferred, selection_.preferred_count) = terms_of(*s.preferred);
  }
  raw_.node_selection = &selection_;
}

BERTH_TESTKIT_INLINE void PodRecord::fill_spread_and_affinity() {
  const PodSpec& s = *spec_;
  if (wants(BERTH_POD_SPREAD)) {
    std::vector<berth_spread_v1> out;
    for (const SpreadSpec& c : s.spread) {
      berth_spread_v1 constraint{};
      constraint.selector = selector_of(c.selector);
      std::vector<berth_id> keys;
      for (const std::string& key : c.match_label_keys) keys.push_back(host_.id(key));
      std::tie(constraint.match_label_keys, constraint.match_label_key_count) = keep(std::move(keys));
      constraint.topology_key = host_.id(c.topology_key);
      constraint.max_skew = c.max_skew;
      constraint.min_domains = c.min_domains;
      constraint.when_unsatisfiable = c.when;
      constraint.node_affinity_policy = c.node_affinity_policy;
      constraint.node_taints_policy = c.node_taints_policy;
      out.push_back(constraint);
    }
    std::tie(raw_.spread, raw_.spread_count) = keep(std::move(out));
  }
  if (wants(BERTH_POD_AFFINITY)) {
    affinity_.struct_size = sizeof affinity_;
    std::tie(affinity_.required, affinity_.required_count) = affinity_terms_of(s.affinity_required);
    std::tie(affinity_.preferred, affinity_.preferred_count) = affinity_terms_of(s.affinity_preferred);
    std::tie(affinity_.anti_required, affinity_.anti_required_count) = affinity_terms_of(s.anti_required);
    std::tie(affinity_.anti_preferred, affinity_.anti_preferred_count) = affinity_terms_of(s.anti_preferred);
    affinity_.present = affinity_.required_count + affinity_.preferred_count + affinity_.anti_required_count +
                            affinity_.anti_preferred_count !=
                        0;
    raw_.affinity = &affinity_;
  }
}

BERTH_TESTKIT_INLINE PodRecord::~PodRecord() = default;

}  // namespace berth::testkit
