// SPDX-License-Identifier: Apache-2.0
#include "framework/view/pod_view.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "observe/fatal_signal.hpp"

namespace berth::framework {
namespace {

// The model and the ABI agree on these shapes, so labels, symbols and host ports cross without a copy.
static_assert(sizeof(model::Label) == sizeof(berth_label_v1));
static_assert(sizeof(model::HostPort) == sizeof(berth_host_port_v1));
static_assert(offsetof(model::HostPort, port) == offsetof(berth_host_port_v1, port));

const berth_label_v1* labels_view(const model::Labels& labels) noexcept {
  return reinterpret_cast<const berth_label_v1*>(labels.data());
}

const berth_requirement_v1* requirements_view(const std::vector<model::Requirement>& list, Arena& arena) {
  auto* const out = arena.array<berth_requirement_v1>(list.size());
  for (std::size_t i = 0; i < list.size(); ++i)
    out[i] = {list[i].key,
              static_cast<std::uint32_t>(list[i].op),
              list[i].values.data(),
              static_cast<std::uint32_t>(list[i].values.size()),
              0,
              list[i].number};
  return out;
}

berth_selector_v1 selector_view(const model::Selector& selector, Arena& arena) {
  return {requirements_view(selector.requirements, arena), static_cast<std::uint32_t>(selector.requirements.size()),
          static_cast<std::uint32_t>(selector.kind), to_abi(selector.error)};
}

const berth_node_term_v1* node_terms_view(const std::vector<model::NodeTerm>& terms, Arena& arena) {
  auto* const out = arena.array<berth_node_term_v1>(terms.size());
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const model::NodeTerm& t = terms[i];
    out[i] = {requirements_view(t.expressions, arena),
              requirements_view(t.fields, arena),
              static_cast<std::uint32_t>(t.expressions.size()),
              static_cast<std::uint32_t>(t.fields.size()),
              t.weight,
              t.error.empty() ? 0u : 1u,
              to_abi(t.error)};
  }
  return out;
}

const berth_affinity_term_v1* terms_view(const std::vector<model::AffinityTerm>& terms, Arena& arena) {
  auto* const out = arena.array<berth_affinity_term_v1>(terms.size());
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const model::AffinityTerm& t = terms[i];
    out[i] = {selector_view(t.selector, arena),
              selector_view(t.namespace_selector, arena),
              t.namespaces.data(),
              static_cast<std::uint32_t>(t.namespaces.size()),
              t.topology_key,
              t.weight,
              0};
  }
  return out;
}

template <typename List>
std::uint32_t count_of(const List& list) noexcept {
  return static_cast<std::uint32_t>(list.size());
}

template <typename T>
void trap_list(const T*& first, std::uint32_t& count) {
  first = static_cast<const T*>(pod_trap().begin);
  count = 1;
}

/// A pod that is being deleted has a time, however unreadable.
std::int64_t deletion_ns(const model::Pod& pod) noexcept {
  return pod.deleting ? std::max<std::int64_t>(1, std::int64_t{pod.deletion_s} * 1'000'000'000) : 0;
}

std::uint32_t phase_of(const model::Pod& pod) noexcept {
  if (pod.phase == "Pending") return BERTH_PHASE_PENDING;
  if (pod.phase == "Running") return BERTH_PHASE_RUNNING;
  if (pod.phase == "Succeeded") return BERTH_PHASE_SUCCEEDED;
  if (pod.phase == "Failed") return BERTH_PHASE_FAILED;
  return BERTH_PHASE_OTHER;
}

}  // namespace

const berth_affinity_v1* affinity_view(const model::PodAffinity& a, Arena& arena) {
  auto* const out = arena.array<berth_affinity_v1>(1);
  *out = {sizeof(berth_affinity_v1),
          a.present ? 1u : 0u,
          terms_view(a.required, arena),
          terms_view(a.preferred, arena),
          terms_view(a.anti_required, arena),
          terms_view(a.anti_preferred, arena),
          count_of(a.required),
          count_of(a.preferred),
          count_of(a.anti_required),
          count_of(a.anti_preferred)};
  return out;
}

void PodView::build_selection() {
  const model::NodeSelection& s = pod_->node_selection;
  auto* const out = arena_->array<berth_node_selection_v1>(1);
  *out = {sizeof(berth_node_selection_v1),
          s.has_selector ? 1u : 0u,
          labels_view(s.selector),
          node_terms_view(s.required, *arena_),
          node_terms_view(s.preferred, *arena_),
          count_of(s.selector),
          s.has_required ? 1u : 0u,
          count_of(s.required),
          s.has_preferred ? 1u : 0u,
          count_of(s.preferred),
          0};
  full_.node_selection = out;
}

void PodView::build_affinity() { full_.affinity = affinity_view(pod_->spec->affinity, *arena_); }

void PodView::build_spread() {
  const auto& list = pod_->spec->spread;
  auto* const out = arena_->array<berth_spread_v1>(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const model::SpreadConstraint& c = list[i];
    out[i] = {selector_view(c.selector, *arena_),
              c.match_label_keys.data(),
              count_of(c.match_label_keys),
              c.topology_key,
              c.max_skew,
              c.min_domains,
              static_cast<std::uint32_t>(c.action),
              c.honor_node_affinity ? BERTH_POLICY_HONOR : BERTH_POLICY_IGNORE,
              c.honor_node_taints ? BERTH_POLICY_HONOR : BERTH_POLICY_IGNORE,
              0};
  }
  full_.spread = out;
  full_.spread_count = count_of(list);
}

void PodView::build(std::uint64_t groups) {
  const std::uint64_t missing = groups & ~built_;
  if (missing == 0) return;
  built_ |= missing;
  const model::Pod& p = *pod_;
  if (missing & BERTH_POD_REQUESTS) {
    auto* const out = arena_->array<berth_resource_v1>(p.requests->resources.size());
    std::size_t n = 0;
    for (const model::PodResource& r : p.requests->resources)
      out[n++] = {r.name,
                  (r.scalar ? std::uint32_t{BERTH_RESOURCE_SCALAR} : 0u) |
                      (r.extended ? std::uint32_t{BERTH_RESOURCE_EXTENDED} : 0u),
                  r.request, r.effective, r.scoring};
    full_.resources = out;
    full_.resource_count = static_cast<std::uint32_t>(n);
  }
  if (missing & BERTH_POD_TOLERATIONS) {
    auto* const out = arena_->array<berth_toleration_v1>(p.spec->tolerations.size());
    std::size_t n = 0;
    for (const model::Toleration& t : p.spec->tolerations)
      out[n++] = {t.key, t.value, static_cast<std::uint32_t>(t.op), static_cast<std::uint32_t>(t.effect), t.seconds};
    full_.tolerations = out;
    full_.toleration_count = static_cast<std::uint32_t>(n);
  }
  if (missing & BERTH_POD_NODE_SELECTION) build_selection();
  if (missing & BERTH_POD_AFFINITY) build_affinity();
  if (missing & BERTH_POD_SPREAD) build_spread();
  if (missing & BERTH_POD_IMAGES) {
    auto* const out = arena_->array<berth_image_ref_v1>(p.spec->images.size());
    std::size_t n = 0;
    for (const model::ImageRef& i : p.spec->images) out[n++] = {i.name, static_cast<std::uint32_t>(i.kind)};
    full_.images = out;
    full_.image_count = static_cast<std::uint32_t>(n);
    full_.container_count = p.spec->container_count;
  }
  if (missing & BERTH_POD_GATES) {
    auto* const out = arena_->array<berth_str>(p.spec->gates.size());
    std::size_t n = 0;
    for (const std::string& gate : p.spec->gates) out[n++] = to_abi(gate);
    full_.gates = out;
    full_.gate_count = static_cast<std::uint32_t>(n);
  }
  if (missing & BERTH_POD_VOLUMES) {
    auto* const out = arena_->array<berth_volume_v1>(p.volumes.size());
    std::size_t n = 0;
    for (const model::PodVolume& v : p.volumes)
      out[n++] = {to_abi(v.name), to_abi(v.source), static_cast<std::uint32_t>(v.kind), v.read_only ? 1u : 0u};
    full_.volumes = out;
    full_.volume_count = static_cast<std::uint32_t>(n);
  }
  if (missing & BERTH_POD_STORAGE) build_storage();
  if (missing & BERTH_POD_RESOURCE_CLAIMS) {
    auto* const out = arena_->array<berth_str>(p.spec->resource_claims.size());
    std::size_t n = 0;
    for (const model::PodClaim& claim : p.spec->resource_claims) out[n++] = to_abi(claim.name);
    full_.resource_claims = out;
    full_.resource_claim_count = static_cast<std::uint32_t>(n);
  }
  if (missing & BERTH_POD_CLAIMS) build_claims();
  if (missing & BERTH_POD_CONTAINERS) build_containers();
  if (missing & BERTH_POD_IDENTITY) build_uid();
  if (missing & BERTH_POD_JSON) build_json();
}

void PodView::build_uid() { uid_ = to_abi(arena_->text(pod_->uid.text())); }

void PodView::build_json() {
  // Bodies go without what a plugin finds in every object.
  constexpr std::string_view k_front = R"({"apiVersion":"v1","kind":"Pod",)";
  json_ = {};
  if (pod_->body.empty()) return;
  const std::size_t bytes = k_front.size() - 1 + pod_->body.text_bytes();
  char* const out = arena_->array<char>(bytes);
  pod_->body.unpack(out + k_front.size() - 1);  // its brace is overwritten
  std::copy(k_front.begin(), k_front.end(), out);
  json_ = {out, bytes};
}

void PodView::build_containers() {
  const auto amounts = [this](const auto& list) {
    auto* const out = arena_->array<berth_container_amount_v1>(list.size());
    std::size_t n = 0;
    for (const model::ContainerAmount& each : list)
      out[n++] = {each.name,
                  (each.has_request ? std::uint32_t{BERTH_AMOUNT_REQUEST} : 0u) |
                      (each.has_limit ? std::uint32_t{BERTH_AMOUNT_LIMIT} : 0u),
                  each.request, each.limit};
    return out;
  };
  const model::PodRequests& requests = pod_->requests;
  auto* const out = arena_->array<berth_container_v1>(requests.containers.size());
  std::size_t n = 0;
  for (const model::ContainerResources& each : requests.containers)
    out[n++] = {amounts(each.amounts), static_cast<std::uint32_t>(each.amounts.size()),
                static_cast<std::uint32_t>(each.kind)};
  full_.containers = out;
  full_.resource_container_count = static_cast<std::uint32_t>(n);
  full_.overhead = amounts(requests.overhead);
  full_.overhead_count = count_of(requests.overhead);
}

void PodView::build_claims() {
  const auto& claims = pod_->spec->resource_claims;
  shows_claims_ = !claims.empty() || pod_->asks_for_devices();
  if (!shows_claims_) return;
  build_uid();
  build_containers();
  const auto& containers = pod_->requests->containers;
  auto* const names = arena_->array<berth_str>(containers.size());
  for (std::size_t i = 0; i < containers.size(); ++i) names[i] = to_abi(containers[i].name);
  full_.container_names = names;
  full_.container_name_count = static_cast<std::uint32_t>(containers.size());
  auto* const out = arena_->array<berth_pod_claim_v1>(claims.size());
  std::uint32_t n = 0;
  for (const model::PodClaim& claim : claims) {
    berth_pod_claim_v1& made = out[n++];
    made = {to_abi(claim.name), to_abi(claim.claim), to_abi(claim.claim_template), {}, 0, 0};
    for (const auto& known : pod_->claim_statuses->generated) {
      if (known.name != claim.name) continue;
      made.generated = to_abi(known.claim);
      made.flags = BERTH_POD_CLAIM_HAS_STATUS;
      break;
    }
  }
  full_.claims = out;
  full_.claim_count = n;
}

void PodView::build_storage() {
  storage_ = {};
  names_claims_ = pod_->names_claims();
  if (names_claims_) build_uid();
  if (pod_->node_volumes.empty()) return;
  auto* const out = arena_->array<berth_volume_v1>(pod_->node_volumes.size());
  std::size_t n = 0;
  for (const model::PodVolume& v : pod_->volumes)
    if (v.kind != model::PodVolume::Kind::other && n < pod_->node_volumes.size())
      out[n++] = {to_abi(v.name), to_abi(v.source), static_cast<std::uint32_t>(v.kind), v.read_only ? 1u : 0u};
  storage_ = {out, n};
}

std::span<const berth_resource_v1> PodView::resources() {
  build(BERTH_POD_REQUESTS);
  return {full_.resources, full_.resource_count};
}

PodTrap pod_trap() {
  static const PodTrap trap = [] {
    constexpr std::size_t k_bytes = std::size_t{1} << 16;
    void* const pages = ::mmap(nullptr, k_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return PodTrap{};
    observe::name_trap(pages, k_bytes, ", reads pod fields that it did not ask for in create()");
    return PodTrap{pages, k_bytes};
  }();
  return trap;
}

/// Fields that several groups fill are left empty if one of these was asked for: it may have nothing to say of the pod.
void PodView::trap(const PodFields& fields, berth_pod_v1& v) {
  if (pod_trap().begin == nullptr) return;
  const auto lacks = [&](std::uint64_t groups) { return (fields.groups & groups) == 0; };
  const berth_str text{static_cast<const char*>(pod_trap().begin), 1};
  if (lacks(BERTH_POD_REQUESTS)) trap_list(v.resources, v.resource_count);
  if (fields.requests.empty()) trap_list(v.requests, v.request_count);
  if (lacks(BERTH_POD_LABELS) && fields.labels.empty()) trap_list(v.labels, v.label_count);
  if (lacks(BERTH_POD_TOLERATIONS)) trap_list(v.tolerations, v.toleration_count);
  if (lacks(BERTH_POD_PRIORITY)) v.priority = BERTH_NOT_REQUESTED;
  if (lacks(BERTH_POD_IDENTITY | BERTH_POD_STORAGE | BERTH_POD_CLAIMS)) v.name = v.uid = text;
  std::uint32_t one = 0;
  if (lacks(BERTH_POD_NODE_SELECTION)) trap_list(v.node_selection, one);
  if (lacks(BERTH_POD_AFFINITY)) trap_list(v.affinity, one);
  if (lacks(BERTH_POD_PORTS)) trap_list(v.host_ports, v.host_port_count);
  if (lacks(BERTH_POD_IMAGES)) {
    trap_list(v.images, v.image_count);
    v.container_count = BERTH_NOT_REQUESTED;
  }
  if (lacks(BERTH_POD_SPREAD)) trap_list(v.spread, v.spread_count);
  if (lacks(BERTH_POD_OWNER)) v.owner_api_version = v.owner_kind = v.owner_name = v.owner_uid = text;
  if (lacks(BERTH_POD_GATES)) trap_list(v.gates, v.gate_count);
  if (lacks(BERTH_POD_SPEC_FLAGS)) v.spec_flags = BERTH_NOT_REQUESTED;
  if (lacks(BERTH_POD_VOLUMES | BERTH_POD_STORAGE)) trap_list(v.volumes, v.volume_count);
  if (lacks(BERTH_POD_RESOURCE_CLAIMS)) trap_list(v.resource_claims, v.resource_claim_count);
  if (lacks(BERTH_POD_CLAIMS)) {
    trap_list(v.claims, v.claim_count);
    trap_list(v.container_names, v.container_name_count);
  }
  if (lacks(BERTH_POD_CLAIMS | BERTH_POD_CONTAINERS)) {
    trap_list(v.containers, v.resource_container_count);
    trap_list(v.overhead, v.overhead_count);
  }
  if (lacks(BERTH_POD_ANNOTATIONS)) trap_list(v.annotations, v.annotation_count);
  if (lacks(BERTH_POD_GROUP)) v.group = text;
  if (lacks(BERTH_POD_STATUS)) {
    v.phase = BERTH_NOT_REQUESTED;
    v.start_ns = v.deletion_ns = BERTH_NOT_REQUESTED;
  }
  if (lacks(BERTH_POD_CREATED)) v.created_ns = BERTH_NOT_REQUESTED;
  if (lacks(BERTH_POD_SCHEDULING)) {
    v.scheduler_name = text;
    v.preemption_policy = BERTH_NOT_REQUESTED;
  }
  if (lacks(BERTH_POD_QOS)) v.qos = BERTH_NOT_REQUESTED;
  if (lacks(BERTH_POD_JSON)) v.json = text;
}

const berth_pod_v1* PodView::view(const PodFields& fields) {
  build(fields.groups);
  const std::uint64_t g = fields.groups;
  const model::Pod& p = *pod_;
  auto& v = *arena_->array<berth_pod_v1>(1);
  v.struct_size = sizeof(berth_pod_v1);
  if (fields.is_trapped) trap(fields, v);
  if (g & BERTH_POD_REQUESTS) {
    v.resources = full_.resources;
    v.resource_count = full_.resource_count;
  }
  if (!fields.requests.empty()) {
    auto* const out = arena_->array<std::int64_t>(fields.requests.size());
    for (std::size_t i = 0; i < fields.requests.size(); ++i)
      for (const model::PodResource& r : p.requests->resources)
        if (r.name == fields.requests[i]) out[i] = r.request;
    v.requests = out;
    v.request_count = static_cast<std::uint32_t>(fields.requests.size());
  }
  if (g & BERTH_POD_LABELS) {
    v.labels = labels_view(p.labels);
    v.label_count = count_of(p.labels);
  } else if (!fields.labels.empty()) {
    auto* const out = arena_->array<berth_label_v1>(fields.labels.size());
    std::uint32_t n = 0;
    for (const model::Label& label : p.labels)
      if (std::binary_search(fields.labels.begin(), fields.labels.end(), label.key))
        out[n++] = {label.key, label.value};
    v.labels = out;
    v.label_count = n;
  }
  if (g & BERTH_POD_TOLERATIONS) {
    v.tolerations = full_.tolerations;
    v.toleration_count = full_.toleration_count;
  }
  if (g & BERTH_POD_PRIORITY) v.priority = p.priority;
  if (g & BERTH_POD_NAMESPACE) v.ns = p.ns_symbol;
  if (g & BERTH_POD_IDENTITY) {
    v.name = to_abi(p.name);
    v.uid = uid_;
  }
  if (g & BERTH_POD_NODE_SELECTION) v.node_selection = full_.node_selection;
  if (g & BERTH_POD_PORTS) {
    v.host_ports = reinterpret_cast<const berth_host_port_v1*>(p.spec->host_ports.data());
    v.host_port_count = count_of(p.spec->host_ports);
  }
  if (g & BERTH_POD_IMAGES) {
    v.images = full_.images;
    v.image_count = full_.image_count;
    v.container_count = full_.container_count;
  }
  if (g & BERTH_POD_SPREAD) {
    v.spread = full_.spread;
    v.spread_count = full_.spread_count;
  }
  if (g & BERTH_POD_AFFINITY) v.affinity = full_.affinity;
  if (g & BERTH_POD_OWNER) {
    v.owner_api_version = to_abi(p.controller->api_version);
    v.owner_kind = to_abi(p.controller->kind);
    v.owner_name = to_abi(p.controller->name);
    v.owner_uid = to_abi(p.controller->uid);
  }
  if (g & BERTH_POD_GATES) {
    v.gates = full_.gates;
    v.gate_count = full_.gate_count;
  }
  if (g & BERTH_POD_SPEC_FLAGS)
    v.spec_flags = (p.spec->host_network ? std::uint32_t{BERTH_SPEC_HOST_NETWORK} : 0u) |
                   (p.spec->host_users_false ? std::uint32_t{BERTH_SPEC_HOST_USERS_FALSE} : 0u) |
                   (p.spec->restarts_all_containers ? std::uint32_t{BERTH_SPEC_RESTARTS_ALL} : 0u);
  if (g & BERTH_POD_PLACEMENT) {
    v.node_name = p.node_name;
    v.nominated_node = p.nominated_node;
  }
  if (g & BERTH_POD_VOLUMES) {
    v.volumes = full_.volumes;
    v.volume_count = full_.volume_count;
  }
  if ((g & BERTH_POD_STORAGE) != 0) {
    if ((g & BERTH_POD_VOLUMES) == 0) {
      v.volumes = storage_.data();
      v.volume_count = static_cast<std::uint32_t>(storage_.size());
    }
    if (names_claims_) {
      v.name = to_abi(p.name);
      v.uid = uid_;
    }
  }
  if (g & BERTH_POD_RESOURCE_CLAIMS) {
    v.resource_claims = full_.resource_claims;
    v.resource_claim_count = full_.resource_claim_count;
  }
  if ((g & BERTH_POD_CLAIMS) != 0 && shows_claims_) {
    v.claims = full_.claims;
    v.claim_count = full_.claim_count;
    v.container_names = full_.container_names;
    v.container_name_count = full_.container_name_count;
    v.containers = full_.containers;
    v.resource_container_count = full_.resource_container_count;
    v.overhead = full_.overhead;
    v.overhead_count = full_.overhead_count;
    v.name = to_abi(p.name);
    v.uid = uid_;
    v.ns = p.ns_symbol;
  }
  if (g & BERTH_POD_CONTAINERS) {
    v.containers = full_.containers;
    v.resource_container_count = full_.resource_container_count;
    v.overhead = full_.overhead;
    v.overhead_count = full_.overhead_count;
  }
  if (g & BERTH_POD_ANNOTATIONS) {
    v.annotations = labels_view(p.annotations);
    v.annotation_count = count_of(p.annotations);
  }
  if (g & BERTH_POD_GROUP) v.group = to_abi(p.spec->group);
  if (g & BERTH_POD_STATUS) {
    v.phase = phase_of(p);
    v.start_ns = p.start_ns;
    v.deletion_ns = deletion_ns(p);
  }
  if (g & BERTH_POD_CREATED) v.created_ns = p.creation_ns;
  if (g & BERTH_POD_SCHEDULING) {
    v.scheduler_name = to_abi(p.scheduler_name.get());
    v.preemption_policy = p.spec->preempts ? BERTH_PREEMPT_LOWER_PRIORITY : BERTH_PREEMPT_NEVER;
  }
  if (g & BERTH_POD_QOS) v.qos = static_cast<std::uint32_t>(p.requests->qos);
  if (g & BERTH_POD_JSON) v.json = json_;
  return &v;
}

}  // namespace berth::framework
