// SPDX-License-Identifier: Apache-2.0
#include "framework/view/pod_field_groups.hpp"

#include <algorithm>
#include <array>

namespace berth::framework {
namespace {

// The model and the ABI agree on these shapes, so labels, symbols and host ports cross without a copy.
static_assert(sizeof(model::Label) == sizeof(berth_label_v1));
static_assert(sizeof(model::HostPort) == sizeof(berth_host_port_v1));
static_assert(offsetof(model::HostPort, port) == offsetof(berth_host_port_v1, port));

template <typename List>
std::uint32_t count_of(const List& list) noexcept {
  return static_cast<std::uint32_t>(list.size());
}

template <typename Out, typename List, typename Make>
const Out* array_of(const List& list, Arena& arena, Make&& make) {
  auto* const out = arena.array<Out>(list.size());
  std::size_t n = 0;
  for (const auto& each : list) out[n++] = make(each);
  return out;
}

/// first, count: the array of what `make` gives for each of the list.
template <typename Out, typename List, typename Make>
void fill(const Out*& first, std::uint32_t& count, const List& list, Arena& arena, Make&& make) {
  first = array_of<Out>(list, arena, std::forward<Make>(make));
  count = count_of(list);
}

const berth_requirement_v1* requirements_view(const std::vector<model::Requirement>& list, Arena& arena) {
  return array_of<berth_requirement_v1>(list, arena, [](const model::Requirement& r) -> berth_requirement_v1 {
    return {r.key, static_cast<std::uint32_t>(r.op), r.values.data(), count_of(r.values), 0, r.number};
  });
}

berth_selector_v1 selector_view(const model::Selector& selector, Arena& arena) {
  return {requirements_view(selector.requirements, arena), count_of(selector.requirements),
          static_cast<std::uint32_t>(selector.kind), to_abi(selector.error)};
}

const berth_node_term_v1* node_terms_view(const std::vector<model::NodeTerm>& terms, Arena& arena) {
  return array_of<berth_node_term_v1>(terms, arena, [&](const model::NodeTerm& t) -> berth_node_term_v1 {
    return {requirements_view(t.expressions, arena),
            requirements_view(t.fields, arena),
            count_of(t.expressions),
            count_of(t.fields),
            t.weight,
            t.error.empty() ? 0u : 1u,
            to_abi(t.error)};
  });
}

const berth_affinity_term_v1* terms_view(const std::vector<model::AffinityTerm>& terms, Arena& arena) {
  return array_of<berth_affinity_term_v1>(terms, arena, [&](const model::AffinityTerm& t) -> berth_affinity_term_v1 {
    return {selector_view(t.selector, arena),
            selector_view(t.namespace_selector, arena),
            t.namespaces.data(),
            count_of(t.namespaces),
            t.topology_key,
            t.weight,
            0};
  });
}

// Which bytes of berth_pod_v1 a group fills.

using Trap = PodFieldBytes::Trap;

#define BERTH_FIELD(member, trap) \
  PodFieldBytes { static_cast<std::uint16_t>(offsetof(berth_pod_v1, member)), sizeof(berth_pod_v1::member), (trap) }
#define BERTH_NUMBER(member) BERTH_FIELD(member, Trap::number)
#define BERTH_ID(member) BERTH_FIELD(member, Trap::none)
#define BERTH_POINTER(member) BERTH_FIELD(member, Trap::address)
#define BERTH_LIST(member, count) BERTH_FIELD(member, Trap::address), BERTH_FIELD(count, Trap::one)
#define BERTH_TEXT(member)                                                                                     \
  PodFieldBytes{static_cast<std::uint16_t>(offsetof(berth_pod_v1, member)), 8, Trap::address}, PodFieldBytes { \
    static_cast<std::uint16_t>(offsetof(berth_pod_v1, member) + 8), 8, Trap::one                               \
  }
static_assert(sizeof(berth_str) == 16 && offsetof(berth_str, len) == 8);

constexpr PodFieldBytes k_requests[] = {BERTH_LIST(resources, resource_count)};
constexpr PodFieldBytes k_labels[] = {BERTH_LIST(labels, label_count)};
constexpr PodFieldBytes k_tolerations[] = {BERTH_LIST(tolerations, toleration_count)};
constexpr PodFieldBytes k_priority[] = {BERTH_NUMBER(priority)};
constexpr PodFieldBytes k_namespace[] = {BERTH_ID(ns)};
constexpr PodFieldBytes k_identity[] = {BERTH_TEXT(name), BERTH_TEXT(uid)};
constexpr PodFieldBytes k_node_selection[] = {BERTH_POINTER(node_selection)};
constexpr PodFieldBytes k_ports[] = {BERTH_LIST(host_ports, host_port_count)};
constexpr PodFieldBytes k_images[] = {BERTH_LIST(images, image_count), BERTH_NUMBER(container_count)};
constexpr PodFieldBytes k_spread[] = {BERTH_LIST(spread, spread_count)};
constexpr PodFieldBytes k_affinity[] = {BERTH_POINTER(affinity)};
constexpr PodFieldBytes k_owner[] = {BERTH_TEXT(owner_api_version), BERTH_TEXT(owner_kind), BERTH_TEXT(owner_name),
                                     BERTH_TEXT(owner_uid)};
constexpr PodFieldBytes k_gates[] = {BERTH_LIST(gates, gate_count)};
constexpr PodFieldBytes k_spec_flags[] = {BERTH_NUMBER(spec_flags)};
constexpr PodFieldBytes k_placement[] = {BERTH_ID(node_name), BERTH_ID(nominated_node)};
constexpr PodFieldBytes k_volumes[] = {BERTH_LIST(volumes, volume_count)};
constexpr PodFieldBytes k_annotations[] = {BERTH_LIST(annotations, annotation_count)};
constexpr PodFieldBytes k_group[] = {BERTH_TEXT(group)};
constexpr PodFieldBytes k_storage[] = {BERTH_LIST(volumes, volume_count), BERTH_TEXT(name), BERTH_TEXT(uid)};
constexpr PodFieldBytes k_resource_claims[] = {BERTH_LIST(resource_claims, resource_claim_count)};
constexpr PodFieldBytes k_containers[] = {BERTH_LIST(containers, resource_container_count),
                                          BERTH_LIST(overhead, overhead_count)};
constexpr PodFieldBytes k_claims[] = {BERTH_LIST(claims, claim_count),
                                      BERTH_LIST(container_names, container_name_count),
                                      BERTH_LIST(containers, resource_container_count),
                                      BERTH_LIST(overhead, overhead_count),
                                      BERTH_TEXT(name),
                                      BERTH_TEXT(uid),
                                      BERTH_ID(ns)};
constexpr PodFieldBytes k_status[] = {BERTH_NUMBER(phase), BERTH_NUMBER(start_ns), BERTH_NUMBER(deletion_ns)};
constexpr PodFieldBytes k_created[] = {BERTH_NUMBER(created_ns)};
constexpr PodFieldBytes k_scheduling[] = {BERTH_TEXT(scheduler_name), BERTH_NUMBER(preemption_policy)};
constexpr PodFieldBytes k_qos[] = {BERTH_NUMBER(qos)};
constexpr PodFieldBytes k_json[] = {BERTH_TEXT(json)};

#undef BERTH_FIELD
#undef BERTH_NUMBER
#undef BERTH_ID
#undef BERTH_POINTER
#undef BERTH_LIST
#undef BERTH_TEXT

// What several groups build or write.

void build_name_and_uid(PodParts& to) {
  to.full.name = to_abi(to.pod->name);
  to.full.uid = to_abi(to.arena->text(to.pod->uid.text()));
}

berth_volume_v1 volume_view(const model::PodVolume& v) {
  return {to_abi(v.name), to_abi(v.source), static_cast<std::uint32_t>(v.kind), v.read_only ? 1u : 0u};
}

void write_volume(const model::PodVolume& v, ClassKey& key) {
  key.text(v.name);
  key.text(v.source);
  key.number(v.kind);
  key.flags(v.read_only);
}

void build_containers(PodParts& to) {
  const auto amounts = [&](const auto& list) {
    return array_of<berth_container_amount_v1>(list, *to.arena,
                                               [](const model::ContainerAmount& each) -> berth_container_amount_v1 {
                                                 return {each.name,
                                                         (each.has_request ? std::uint32_t{BERTH_AMOUNT_REQUEST} : 0u) |
                                                             (each.has_limit ? std::uint32_t{BERTH_AMOUNT_LIMIT} : 0u),
                                                         each.request, each.limit};
                                               });
  };
  const model::PodRequests& requests = to.pod->requests;
  fill(to.full.containers, to.full.resource_container_count, requests.containers, *to.arena,
       [&](const model::ContainerResources& each) -> berth_container_v1 {
         return {amounts(each.amounts), count_of(each.amounts), static_cast<std::uint32_t>(each.kind)};
       });
  to.full.overhead = amounts(requests.overhead);
  to.full.overhead_count = count_of(requests.overhead);
}

void write_containers(const model::Pod& pod, ClassKey& key) {
  const auto amount = [&](const model::ContainerAmount& each) {
    key.number(each.name);
    key.flags(each.has_request, each.has_limit);
    key.numbers(each.request, each.limit);
  };
  key.list(pod.requests->containers, [&](const model::ContainerResources& each) {
    key.number(each.kind);
    key.list(each.amounts, amount);
  });
  key.list(pod.requests->overhead, amount);
}

void build_claims(PodParts& to) {
  const auto& claims = to.pod->spec->resource_claims;
  to.shows_claims = !claims.empty() || to.pod->asks_for_devices();
  if (!to.shows_claims) return;
  build_name_and_uid(to);
  build_containers(to);
  to.full.ns = to.pod->ns_symbol;
  fill(to.full.container_names, to.full.container_name_count, to.pod->requests->containers, *to.arena,
       [](const model::ContainerResources& each) { return to_abi(each.name); });
  fill(to.full.claims, to.full.claim_count, claims, *to.arena, [&](const model::PodClaim& claim) {
    berth_pod_claim_v1 made{to_abi(claim.name), to_abi(claim.claim), to_abi(claim.claim_template), {}, 0, 0};
    const auto& known = to.pod->claim_statuses->generated;
    const auto status =
        std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.name == claim.name; });
    if (status != known.end()) {
      made.generated = to_abi(status->claim);
      made.flags = BERTH_POD_CLAIM_HAS_STATUS;
    }
    return made;
  });
}

void build_storage(PodParts& to) {
  to.node_volumes = {};
  to.names_claims = to.pod->names_claims();
  if (to.names_claims) build_name_and_uid(to);
  if (to.pod->node_volumes.empty()) return;
  auto* const out = to.arena->array<berth_volume_v1>(to.pod->node_volumes.size());
  std::size_t n = 0;
  for (const model::PodVolume& v : to.pod->volumes)
    if (v.kind != model::PodVolume::Kind::other && n < to.pod->node_volumes.size()) out[n++] = volume_view(v);
  to.node_volumes = {out, n};
}

void build_json(PodParts& to) {
  // Bodies go without what a plugin finds in every object.
  constexpr std::string_view k_front = R"({"apiVersion":"v1","kind":"Pod",)";
  if (to.pod->body.empty()) return;
  const std::size_t bytes = k_front.size() - 1 + to.pod->body.text_bytes();
  char* const out = to.arena->array<char>(bytes);
  to.pod->body.unpack(out + k_front.size() - 1);  // its brace is overwritten
  std::copy(k_front.begin(), k_front.end(), out);
  to.full.json = {out, bytes};
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

const PodFieldGroup k_groups[] = {
    {BERTH_POD_REQUESTS, k_requests,
     [](PodParts& to) {
       fill(to.full.resources, to.full.resource_count, to.pod->requests->resources, *to.arena,
            [](const model::PodResource& r) -> berth_resource_v1 {
              return {r.name,
                      (r.scalar ? std::uint32_t{BERTH_RESOURCE_SCALAR} : 0u) |
                          (r.extended ? std::uint32_t{BERTH_RESOURCE_EXTENDED} : 0u),
                      r.request, r.effective, r.scoring};
            });
     },
     [](const model::Pod& pod, ClassKey& key) {
       key.list(pod.requests->resources,
                [&](const model::PodResource& r) { key.numbers(r.name, r.request, r.effective, r.scoring); });
     }},
    {BERTH_POD_LABELS, k_labels,
     [](PodParts& to) {
       to.full.labels = labels_view(to.pod->labels);
       to.full.label_count = count_of(to.pod->labels);
     },
     [](const model::Pod& pod, ClassKey& key) { key.labels(pod.labels); }},
    {BERTH_POD_TOLERATIONS, k_tolerations,
     [](PodParts& to) {
       fill(
           to.full.tolerations, to.full.toleration_count, to.pod->spec->tolerations, *to.arena,
           [](const model::Toleration& t) -> berth_toleration_v1 {
             return {t.key, t.value, static_cast<std::uint32_t>(t.op), static_cast<std::uint32_t>(t.effect), t.seconds};
           });
     },
     [](const model::Pod& pod, ClassKey& key) {
       key.list(pod.spec->tolerations,
                [&](const model::Toleration& t) { key.numbers(t.key, t.value, t.op, t.effect, t.seconds); });
     }},
    {BERTH_POD_PRIORITY, k_priority, [](PodParts& to) { to.full.priority = to.pod->priority; },
     [](const model::Pod& pod, ClassKey& key) { key.number(pod.priority); }},
    {BERTH_POD_NAMESPACE, k_namespace, [](PodParts& to) { to.full.ns = to.pod->ns_symbol; },
     [](const model::Pod& pod, ClassKey& key) { key.number(pod.ns_symbol); }},
    {BERTH_POD_IDENTITY, k_identity, build_name_and_uid},
    {BERTH_POD_NODE_SELECTION, k_node_selection,
     [](PodParts& to) {
       const model::NodeSelection& s = to.pod->node_selection;
       auto* const out = to.arena->array<berth_node_selection_v1>(1);
       *out = {sizeof(berth_node_selection_v1),
               s.has_selector ? 1u : 0u,
               labels_view(s.selector),
               node_terms_view(s.required, *to.arena),
               node_terms_view(s.preferred, *to.arena),
               count_of(s.selector),
               s.has_required ? 1u : 0u,
               count_of(s.required),
               s.has_preferred ? 1u : 0u,
               count_of(s.preferred),
               0};
       to.full.node_selection = out;
     },
     [](const model::Pod& pod, ClassKey& key) {
       const model::NodeSelection& s = pod.node_selection;
       key.flags(s.has_selector, s.has_required, s.has_preferred);
       key.labels(s.selector);
       key.node_terms(s.required);
       key.node_terms(s.preferred);
     }},
    {BERTH_POD_PORTS, k_ports,
     [](PodParts& to) {
       to.full.host_ports = reinterpret_cast<const berth_host_port_v1*>(to.pod->spec->host_ports.data());
       to.full.host_port_count = count_of(to.pod->spec->host_ports);
     },
     [](const model::Pod& pod, ClassKey& key) {
       key.list(pod.spec->host_ports, [&](const model::HostPort& p) { key.numbers(p.ip, p.protocol, p.port); });
     }},
    {BERTH_POD_IMAGES, k_images,
     [](PodParts& to) {
       fill(to.full.images, to.full.image_count, to.pod->spec->images, *to.arena,
            [](const model::ImageRef& i) -> berth_image_ref_v1 {
              return {i.name, static_cast<std::uint32_t>(i.kind)};
            });
       to.full.container_count = to.pod->spec->container_count;
     },
     [](const model::Pod& pod, ClassKey& key) {
       key.list(pod.spec->images, [&](const model::ImageRef& i) { key.numbers(i.name, i.kind); });
       key.number(pod.spec->container_count);
     }},
    {BERTH_POD_SPREAD, k_spread,
     [](PodParts& to) {
       fill(to.full.spread, to.full.spread_count, to.pod->spec->spread, *to.arena,
            [&](const model::SpreadConstraint& c) -> berth_spread_v1 {
              return {selector_view(c.selector, *to.arena),
                      c.match_label_keys.data(),
                      count_of(c.match_label_keys),
                      c.topology_key,
                      c.max_skew,
                      c.min_domains,
                      static_cast<std::uint32_t>(c.action),
                      c.honor_node_affinity ? BERTH_POLICY_HONOR : BERTH_POLICY_IGNORE,
                      c.honor_node_taints ? BERTH_POLICY_HONOR : BERTH_POLICY_IGNORE,
                      0};
            });
     },
     [](const model::Pod& pod, ClassKey& key) {
       key.list(pod.spec->spread, [&](const model::SpreadConstraint& c) {
         key.selector(c.selector);
         key.symbols(c.match_label_keys);
         key.numbers(c.topology_key, c.max_skew, c.min_domains, c.action);
         key.flags(c.honor_node_affinity, c.honor_node_taints);
       });
     }},
    {BERTH_POD_AFFINITY, k_affinity,
     [](PodParts& to) { to.full.affinity = affinity_view(to.pod->spec->affinity, *to.arena); },
     [](const model::Pod& pod, ClassKey& key) {
       const model::PodAffinity& affinity = pod.spec->affinity;
       key.flags(affinity.present);
       for (const auto* const terms :
            {&affinity.required, &affinity.preferred, &affinity.anti_required, &affinity.anti_preferred})
         key.terms(*terms);
     }},
    {BERTH_POD_OWNER, k_owner,
     [](PodParts& to) {
       to.full.owner_api_version = to_abi(to.pod->controller->api_version);
       to.full.owner_kind = to_abi(to.pod->controller->kind);
       to.full.owner_name = to_abi(to.pod->controller->name);
       to.full.owner_uid = to_abi(to.pod->controller->uid);
     },
     [](const model::Pod& pod, ClassKey& key) {
       key.text(pod.controller->api_version);
       key.text(pod.controller->kind);
       key.text(pod.controller->name);
       key.text(pod.controller->uid);
     }},
    {BERTH_POD_GATES, k_gates,
     [](PodParts& to) {
       fill(to.full.gates, to.full.gate_count, to.pod->spec->gates, *to.arena,
            [](const std::string& gate) { return to_abi(gate); });
     },
     [](const model::Pod& pod, ClassKey& key) {
       key.list(pod.spec->gates, [&](const std::string& gate) { key.text(gate); });
     }},
    {BERTH_POD_SPEC_FLAGS, k_spec_flags,
     [](PodParts& to) {
       const model::PodSpec& spec = *to.pod->spec;
       to.full.spec_flags = (spec.host_network ? std::uint32_t{BERTH_SPEC_HOST_NETWORK} : 0u) |
                            (spec.host_users_false ? std::uint32_t{BERTH_SPEC_HOST_USERS_FALSE} : 0u) |
                            (spec.restarts_all_containers ? std::uint32_t{BERTH_SPEC_RESTARTS_ALL} : 0u);
     },
     [](const model::Pod& pod, ClassKey& key) {
       key.flags(pod.spec->host_network, pod.spec->host_users_false, pod.spec->restarts_all_containers);
     }},
    {BERTH_POD_PLACEMENT, k_placement,
     [](PodParts& to) {
       to.full.node_name = to.pod->node_name;
       to.full.nominated_node = to.pod->nominated_node;
     },
     [](const model::Pod& pod, ClassKey& key) { key.numbers(pod.node_name, pod.nominated_node); }},
    {BERTH_POD_VOLUMES, k_volumes,
     [](PodParts& to) { fill(to.full.volumes, to.full.volume_count, to.pod->volumes, *to.arena, volume_view); },
     [](const model::Pod& pod, ClassKey& key) {
       key.list(pod.volumes, [&](const model::PodVolume& v) { write_volume(v, key); });
     }},
    {BERTH_POD_ANNOTATIONS, k_annotations,
     [](PodParts& to) {
       to.full.annotations = labels_view(to.pod->annotations);
       to.full.annotation_count = count_of(to.pod->annotations);
     },
     [](const model::Pod& pod, ClassKey& key) { key.labels(pod.annotations); }},
    {BERTH_POD_GROUP, k_group, [](PodParts& to) { to.full.group = to_abi(to.pod->spec->group); },
     [](const model::Pod& pod, ClassKey& key) { key.text(pod.spec->group); }},
    {BERTH_POD_STORAGE, k_storage, build_storage,
     [](const model::Pod& pod, ClassKey& key) {
       key.number(count_of(pod.node_volumes));
       if (pod.names_claims()) key.text(pod.uid.text());
       for (const model::PodVolume& v : pod.volumes)
         if (v.kind != model::PodVolume::Kind::other) write_volume(v, key);
     },
     [](const PodParts& parts, berth_pod_v1& view) {
       if (view.volume_count == 0) {  // the VOLUMES group shows all of them
         view.volumes = parts.node_volumes.data();
         view.volume_count = count_of(parts.node_volumes);
       }
       if (parts.names_claims) copy_fields(k_identity, parts.full, view);
     }},
    {BERTH_POD_RESOURCE_CLAIMS, k_resource_claims,
     [](PodParts& to) {
       fill(to.full.resource_claims, to.full.resource_claim_count, to.pod->spec->resource_claims, *to.arena,
            [](const model::PodClaim& claim) { return to_abi(claim.name); });
     },
     [](const model::Pod& pod, ClassKey& key) {
       key.list(pod.spec->resource_claims, [&](const model::PodClaim& claim) { key.text(claim.name); });
     }},
    {BERTH_POD_CONTAINERS, k_containers, build_containers,
     [](const model::Pod& pod, ClassKey& key) { write_containers(pod, key); }},
    {BERTH_POD_CLAIMS, k_claims, build_claims,
     [](const model::Pod& pod, ClassKey& key) {
       const bool has_claims = !pod.spec->resource_claims.empty();
       key.flags(has_claims);
       if (has_claims) key.text(pod.uid.text());
       if (pod.asks_for_devices()) write_containers(pod, key);
     },
     [](const PodParts& parts, berth_pod_v1& view) {
       if (parts.shows_claims) copy_fields(k_claims, parts.full, view);
     }},
    {BERTH_POD_STATUS, k_status,
     [](PodParts& to) {
       to.full.phase = phase_of(*to.pod);
       to.full.start_ns = to.pod->start_ns;
       to.full.deletion_ns = deletion_ns(*to.pod);
     },
     [](const model::Pod& pod, ClassKey& key) {
       key.text(pod.phase);
       key.number(pod.start_ns);
       key.flags(pod.deleting);
       key.number(pod.deletion_s);
     }},
    {BERTH_POD_CREATED, k_created, [](PodParts& to) { to.full.created_ns = to.pod->creation_ns; },
     [](const model::Pod& pod, ClassKey& key) { key.number(pod.creation_ns); }},
    {BERTH_POD_SCHEDULING, k_scheduling,
     [](PodParts& to) {
       to.full.scheduler_name = to_abi(to.pod->scheduler_name.get());
       to.full.preemption_policy = to.pod->spec->preempts ? BERTH_PREEMPT_LOWER_PRIORITY : BERTH_PREEMPT_NEVER;
     },
     [](const model::Pod& pod, ClassKey& key) {
       key.text(pod.scheduler_name);
       key.flags(pod.spec->preempts);
     }},
    {BERTH_POD_QOS, k_qos, [](PodParts& to) { to.full.qos = static_cast<std::uint32_t>(to.pod->requests->qos); },
     [](const model::Pod& pod, ClassKey& key) { key.number(pod.requests->qos); }},
    {BERTH_POD_JSON, k_json, build_json},
};

}  // namespace

std::span<const PodFieldGroup> pod_field_groups() noexcept { return k_groups; }

void copy_fields(std::span<const PodFieldBytes> fields, const berth_pod_v1& from, berth_pod_v1& to) noexcept {
  const auto* const source = reinterpret_cast<const char*>(&from);
  auto* const target = reinterpret_cast<char*>(&to);
  for (const PodFieldBytes& field : fields)
    std::memcpy(target + field.offset, source + field.offset, field.bytes == 8 ? 8 : 4);
}

const berth_label_v1* labels_view(const model::Labels& labels) noexcept {
  return reinterpret_cast<const berth_label_v1*>(labels.data());
}

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

}  // namespace berth::framework
