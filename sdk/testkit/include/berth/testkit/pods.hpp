// SPDX-License-Identifier: Apache-2.0
/// PodSpec: what a test says about a pod, in strings. PodRecord: the berth_pod_v1 that a policy sees of it.
///
/// Units:    cpu in milli-cores, memory and storage in bytes, times in nanoseconds of the wall clock.
/// Lifetime: specs own their texts. A PodRecord owns what it shows and borrows the host; ids are the host's.
/// Threads:  one. Errors: std::out_of_range for an operator that there is not.
/// Source:   berth_pod_v1 (ext/pods.h).
#pragma once
#include <berth/testkit/host.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>

namespace berth::testkit {

using Strings = std::map<std::string, std::string>;

/// One requirement of a selector; Gt and Lt have one value, an integer.
struct RequirementSpec {
  std::string key;
  std::string op;  ///< In, NotIn, Exists, DoesNotExist, Gt, Lt
  std::vector<std::string> values = {};
};
/// nullopt where a selector is optional means "absent": it matches nothing.
struct SelectorSpec {
  std::vector<RequirementSpec> requirements = {};
};
/// A term of a node selector; weight in preferred ones only.
struct TermSpec {
  std::vector<RequirementSpec> expressions = {};
  std::vector<RequirementSpec> fields = {};
  std::int32_t weight = 0;
  std::string error = {};  ///< not empty: the term does not parse
};
struct TolerationSpec {
  std::string key = {};
  std::string op = "Equal";  ///< Equal, Exists, Lt, Gt; anything else is "other"
  std::string value = {};
  std::string effect = {};  ///< empty: any
};
/// A host port; "0.0.0.0" is every address.
struct PortSpec {
  std::int32_t port;
  std::string protocol = "TCP";
  std::string ip = "0.0.0.0";
};
/// One resource with its sums, as berth_resource_v1 has them: they are not computed from containers.
struct ResourceSpec {
  std::string name;
  std::int64_t request = 0;
  std::int64_t effective = 0;
  std::int64_t scoring = 0;
  std::uint32_t flags = 0;
};
/// cpu in milli. A name in neither map is not given.
struct ContainerSpec {
  std::map<std::string, std::int64_t> requests = {};
  std::map<std::string, std::int64_t> limits = {};
  std::uint32_t kind = BERTH_CONTAINER_APP;
};
struct ImageRefSpec {
  std::string name;
  std::uint32_t kind = BERTH_IMAGE_CONTAINER;
};
/// A topology spread constraint.
struct SpreadSpec {
  std::string topology_key;
  std::int32_t max_skew = 1;
  std::uint32_t when = BERTH_SPREAD_DO_NOT_SCHEDULE;
  std::optional<SelectorSpec> selector = SelectorSpec{};
  std::int32_t min_domains = 1;
  std::uint32_t node_affinity_policy = BERTH_POLICY_HONOR;
  std::uint32_t node_taints_policy = BERTH_POLICY_IGNORE;
  std::vector<std::string> match_label_keys = {};
};
/// A term of pod affinity or anti-affinity; weight in preferred ones only.
struct AffinityTermSpec {
  std::string topology_key;
  std::optional<SelectorSpec> selector = SelectorSpec{};
  std::vector<std::string> namespaces = {"default"};
  std::optional<SelectorSpec> namespace_selector = std::nullopt;
  std::int32_t weight = 0;
};

/// BERTH_EFFECT_*; empty is ANY, another word OTHER.
inline std::uint32_t effect_of(const std::string& effect) {
  if (effect.empty()) return BERTH_EFFECT_ANY;
  if (effect == "NoSchedule") return BERTH_EFFECT_NO_SCHEDULE;
  if (effect == "PreferNoSchedule") return BERTH_EFFECT_PREFER_NO_SCHEDULE;
  if (effect == "NoExecute") return BERTH_EFFECT_NO_EXECUTE;
  return BERTH_EFFECT_OTHER;
}
inline berth_host_port_v1 port_of(FakeHost& host, const PortSpec& port) {
  return {host.id(port.ip), host.id(port.protocol), port.port, port.ip == "0.0.0.0" ? 1u : 0u};
}

/// kind: BERTH_VOLUME_*; source as the kind says.
struct VolumeSpec {
  std::string name;
  std::uint32_t kind = BERTH_VOLUME_CLAIM;
  std::string source = {};
  bool read_only = false;
};
/// An entry of spec.resourceClaims, with what the status says about it.
struct PodClaimSpec {
  std::string name = {};
  std::string claim = {};
  std::string claim_template = {};
  std::optional<std::string> generated = {};
};
/// A pod in the API's terms; what the policy did not request is not shown of it.
struct PodSpec {
  std::string name = "pod";
  std::string ns = "default";
  std::string uid = {};  ///< empty: the name with "-uid"
  std::string node_name = {};
  std::string nominated_node = {};
  std::int64_t priority = 0;  ///< spec.priority
  Strings labels = {};
  Strings annotations = {};
  std::vector<TolerationSpec> tolerations = {};
  std::optional<Strings> node_selector = {};  ///< absent: spec has none
  std::optional<std::vector<TermSpec>> required = {};
  std::optional<std::vector<TermSpec>> preferred = {};
  std::vector<PortSpec> ports = {};
  std::vector<ImageRefSpec> images = {};
  std::uint32_t containers = 1;
  std::vector<std::string> gates = {};
  std::uint32_t spec_flags = 0;
  std::vector<ResourceSpec> resources = {};  ///< of BERTH_POD_REQUESTS and Setup::request()
  std::vector<SpreadSpec> spread = {};
  std::vector<AffinityTermSpec> affinity_required = {};
  std::vector<AffinityTermSpec> affinity_preferred = {};
  std::vector<AffinityTermSpec> anti_required = {};
  std::vector<AffinityTermSpec> anti_preferred = {};
  std::string owner_api_version = {}, owner_kind = {}, owner_name = {}, owner_uid = {};
  std::vector<VolumeSpec> volumes = {};
  std::vector<std::string> resource_claims = {};
  std::vector<PodClaimSpec> claims = {};                ///< of BERTH_POD_CLAIMS
  std::vector<ContainerSpec> container_resources = {};  ///< of BERTH_POD_CONTAINERS
  std::map<std::string, std::int64_t> overhead = {};
  std::int64_t created_ns = 0, start_ns = 0, deletion_ns = 0;
  std::uint32_t phase = BERTH_PHASE_PENDING;
  std::uint32_t preemption_policy = BERTH_PREEMPT_LOWER_PRIORITY;
  std::uint32_t qos = BERTH_QOS_BEST_EFFORT;
  std::string scheduler_name = "default-scheduler";
  std::string group = {};  ///< spec.schedulingGroup.podGroupName
  std::string json = {};   ///< the whole object
};

namespace detail {
/// Memory that cannot be read.
inline const void* unreadable() {
  static void* const pages = ::mmap(nullptr, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}
template <class T>
void trap_list(const T*& first, std::uint32_t& count) {
  first = static_cast<const T*>(unreadable());
  count = 1;
}
/// What a pod looks like where nothing was asked for; fields that several groups fill are left as they are.
inline void trap_fields(berth_pod_v1& v, std::uint64_t groups, bool has_labels, bool has_requests) {
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

/// Groups that the policy did not request are traps, or empty: FakeHost::traps_unasked_fields. Neither copied nor
/// moved.
class PodRecord {
 public:
  /// extra_groups: what a call shows besides, BERTH_POD_*.
  PodRecord(FakeHost& host, const PodSpec& spec, std::uint64_t extra_groups = 0)
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
  PodRecord(const PodRecord&) = delete;
  PodRecord& operator=(const PodRecord&) = delete;
  /// Lives as long as the record.
  const berth_pod_v1* raw() const { return &raw_; }

 private:
  bool wants(std::uint64_t group) const { return (groups_ & group) != 0; }
  template <class T>
  std::pair<const T*, std::uint32_t> keep(std::vector<T> values) {
    auto owned = std::make_shared<std::vector<T>>(std::move(values));
    owned_.push_back(owned);
    return {owned->empty() ? nullptr : owned->data(), static_cast<std::uint32_t>(owned->size())};
  }
  std::vector<berth_label_v1> labels_of(const Strings& labels) {
    std::vector<berth_label_v1> out;
    for (const auto& [key, value] : labels) out.push_back({host_.id(key), host_.id(value)});
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    return out;
  }
  berth_requirement_v1 requirement_of(const RequirementSpec& spec) {
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
  std::pair<const berth_requirement_v1*, std::uint32_t> requirements_of(const std::vector<RequirementSpec>& specs) {
    std::vector<berth_requirement_v1> out;
    for (const RequirementSpec& spec : specs) out.push_back(requirement_of(spec));
    return keep(std::move(out));
  }
  berth_selector_v1 selector_of(const std::optional<SelectorSpec>& spec) {
    berth_selector_v1 out{};
    if (!spec) return out;
    out.kind = BERTH_SELECTOR_MATCH;
    std::tie(out.requirements, out.requirement_count) = requirements_of(spec->requirements);
    return out;
  }
  std::pair<const berth_node_term_v1*, std::uint32_t> terms_of(const std::vector<TermSpec>& specs) {
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
  std::pair<const berth_affinity_term_v1*, std::uint32_t> affinity_terms_of(
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

  void fill_scalars() {
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
  void fill_lists() {
    const PodSpec& s = *spec_;
    if (wants(BERTH_POD_LABELS) || !host_.pod_labels.empty()) {
      Strings labels = s.labels;
      if (!wants(BERTH_POD_LABELS))
        std::erase_if(labels, [&](const auto& label) { return host_.pod_labels.count(label.first) == 0; });
      std::tie(raw_.labels, raw_.label_count) = keep(labels_of(labels));
    }
    if (wants(BERTH_POD_ANNOTATIONS))
      std::tie(raw_.annotations, raw_.annotation_count) = keep(labels_of(s.annotations));
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
  void fill_claims() {
    std::vector<berth_pod_claim_v1> out;
    for (const PodClaimSpec& c : spec_->claims)
      out.push_back({str(c.name), str(c.claim), str(c.claim_template), c.generated ? str(*c.generated) : berth_str{},
                     c.generated ? std::uint32_t{BERTH_POD_CLAIM_HAS_STATUS} : 0u, 0});
    std::tie(raw_.claims, raw_.claim_count) = keep(std::move(out));
    raw_.name = str(spec_->name);
    raw_.uid = str(spec_->uid);
    raw_.ns = host_.id(spec_->ns);
  }
  void fill_volumes() {
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
  void fill_resources() {
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
  std::pair<const berth_container_amount_v1*, std::uint32_t> amounts_of(
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
  void fill_containers() {
    std::vector<berth_container_v1> out;
    for (const ContainerSpec& c : spec_->container_resources) {
      const auto [amounts, count] = amounts_of(c.requests, c.limits);
      out.push_back({amounts, count, c.kind});
    }
    std::tie(raw_.containers, raw_.resource_container_count) = keep(std::move(out));
    std::tie(raw_.overhead, raw_.overhead_count) = amounts_of(spec_->overhead, {});
  }
  void fill_selection() {
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
  void fill_spread_and_affinity() {
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

  FakeHost& host_;
  std::unique_ptr<PodSpec> spec_;
  std::uint64_t groups_;
  std::vector<std::shared_ptr<void>> owned_;
  berth_node_selection_v1 selection_{};
  berth_affinity_v1 affinity_{};
  berth_pod_v1 raw_{};
};

}  // namespace berth::testkit
