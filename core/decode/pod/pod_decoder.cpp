// SPDX-License-Identifier: Apache-2.0
#include "decode/pod/pod_decoder.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>

#include "decode/pod/requests.hpp"
#include "decode/remains.hpp"
#include "decode/selectors/labels.hpp"
#include "decode/selectors/selector_decoder.hpp"
#include "text/parse.hpp"

namespace berth::decode {
namespace {

/// ":latest" where neither tag nor digest is given. A port ("localhost:5000/a") is no tag.
/// Source: kubernetes v1.36 pkg/scheduler/framework/plugins/imagelocality/image_locality.go (normalizedImageName).
Symbol intern_image(std::string_view name, SymbolTable& symbols) {
  const std::size_t colon = name.rfind(':');
  const std::size_t slash = name.rfind('/');
  const bool tagged = colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  return tagged ? symbols.intern(name) : symbols.intern(std::string(name) + ":latest");
}

void decode_metadata(const Cursor& metadata, const Defaulting* defaulting, const KeptParts& parts, SymbolTable& symbols,
                     model::Pod& pod) {
  const Cursor name = metadata.child("name");
  const Cursor ns = metadata.child("namespace");
  const Cursor uid = metadata.child("uid");
  const Cursor version = metadata.child("resourceVersion");
  const Cursor created = metadata.child("creationTimestamp");
  const Cursor generation = metadata.child("generation");
  pod.name = name.string_or({});
  if (pod.name.empty()) name.add_error("a pod needs a name");
  if (pod.name.size() > k_name_bytes_max) {  // it stands in the names of all its ephemeral claims
    name.add_error("is longer than any name");
    pod.name.resize(k_name_bytes_max);
  }
  pod.ns = ns.string_or({});
  if (pod.ns.empty()) pod.ns = "default";
  pod.ns_symbol = symbols.intern(pod.ns.get());
  pod.uid = uid.string_or({});
  pod.resource_version = version.string_or({});
  pod.creation_ns = decode_time_ns(created);
  pod.spec.edit().generation = generation.integer().value_or(0);
  const Cursor deleted = metadata.child("deletionTimestamp");
  pod.deleting = deleted.present();
  // Its fractions are never given, and 32 bits of seconds reach until 2106.
  pod.deletion_s = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(decode_time_ns(deleted) / 1'000'000'000, 0, std::numeric_limits<std::uint32_t>::max()));
  if (defaulting != nullptr) {
    // uid, creation time and generation: staging/src/k8s.io/apiserver/pkg/registry/rest/create.go and meta.go.
    pod.uid = Defaulting::make_uid("Pod", pod.ns, pod.name);
    if (pod.creation_ns == 0) pod.creation_ns = defaulting->creation_ns();
    if (pod.spec->generation == 0) pod.spec.edit().generation = 1;
  }
  const Cursor labels = metadata.mapping("labels");
  pod.labels = decode_labels(labels, symbols);
  const Cursor annotations = metadata.mapping("annotations");
  if (parts.annotations)
    pod.annotations = decode_labels(annotations, symbols);
  else
    annotations.each_member([](std::string_view, const Cursor& value) { value.string_or({}); });  // says what is wrong
  const Cursor owners = metadata.sequence("ownerReferences");
  owners.each([&](const Cursor& owner) {
    const Cursor controller = owner.child("controller");
    if (!controller.boolean().value_or(false) || !pod.controller->kind.empty()) return;
    const Cursor version_of = owner.child("apiVersion");
    const Cursor kind = owner.child("kind");
    const Cursor owner_name = owner.child("name");
    const Cursor owner_uid = owner.child("uid");
    pod.controller = model::OwnerReference{std::string(version_of.string_or({})), std::string(kind.string_or({})),
                                           std::string(owner_name.string_or({})), std::string(owner_uid.string_or({}))};
  });
}

/// plugin/pkg/admission/priority/admission.go: a class decides, and without a class the global default does.
void decode_priority(const Cursor& spec, const Defaulting* defaulting, model::Pod& pod) {
  const Cursor priority = spec.child("priority");
  const Cursor policy = spec.child("preemptionPolicy");
  const Cursor class_name = spec.child("priorityClassName");
  pod.priority = priority.integer32().value_or(0);
  pod.spec.edit().preempts = policy.string_or({}) != "Never";
  if (defaulting == nullptr) return;
  const std::string_view wanted = class_name.string_or({});
  const auto known = defaulting->priority_of(wanted);
  if (!known) {
    class_name.add_error(fmt::format("no PriorityClass with name {} was found", wanted));
    return;
  }
  // A number without a class is one that an API server would refuse; for a simulation it says what it says.
  if (!wanted.empty() || !priority.present()) pod.priority = known->value;
  if (!policy.present()) pod.spec.edit().preempts = known->preempts;
}

struct ContainerContext {
  bool init = false;
  bool host_ports_default = false;  // hostNetwork: ports are host ports
};

void decode_ports(const Cursor& container, const ContainerContext& context, SymbolTable& symbols, model::PodSpec& out) {
  const Cursor ports = container.sequence("ports");
  ports.each([&](const Cursor& port) {
    const Cursor host = port.child("hostPort");
    const Cursor inside = port.child("containerPort");
    const Cursor ip = port.child("hostIP");
    const Cursor protocol = port.child("protocol");
    std::int32_t number = host.integer32().value_or(0);
    if (number == 0 && context.host_ports_default) number = inside.integer32().value_or(0);
    const std::string_view address = ip.string_or({}).empty() ? std::string_view("0.0.0.0") : ip.string_or({});
    const std::string_view word = protocol.string_or({}).empty() ? std::string_view("TCP") : protocol.string_or({});
    if (number <= 0) return;
    out.host_ports.push_back({symbols.intern(address), symbols.intern(word), number, address == "0.0.0.0"});
  });
}

void decode_container(const Cursor& container, const ContainerContext& context, SymbolTable& symbols,
                      model::PodSpec& out) {
  ++out.container_count;
  const Cursor image = container.child("image");
  const Cursor policy = container.child("restartPolicy");
  const Cursor rules = container.sequence("restartPolicyRules");
  const auto kind = context.init ? model::ImageRef::Kind::init_container : model::ImageRef::Kind::container;
  out.images.push_back({intern_image(image.string_or({}), symbols), kind});
  rules.each([&](const Cursor& rule) {
    const Cursor action = rule.child("action");
    out.restarts_all_containers |= action.string_or({}) == "RestartAllContainers";
  });
  // Ordinary init containers are gone when the others run, so their ports do not count.
  if (!context.init || policy.string_or({}) == "Always") decode_ports(container, context, symbols, out);
}

void decode_containers(const Cursor& spec, bool defaulting, SymbolTable& symbols, model::PodSpec& out) {
  // defaults.go, defaultHostNetworkPorts.
  const bool host_ports_default = defaulting && out.host_network;
  const Cursor init_containers = spec.sequence("initContainers");
  const Cursor containers = spec.sequence("containers");
  init_containers.each([&](const Cursor& c) { decode_container(c, {true, host_ports_default}, symbols, out); });
  containers.each([&](const Cursor& c) { decode_container(c, {false, host_ports_default}, symbols, out); });
  if (!containers.present() || containers.value().elements().empty())
    containers.add_error("a pod needs at least one container");
  const Cursor volumes = spec.sequence("volumes");
  volumes.each([&](const Cursor& volume) {
    const Cursor image = volume.mapping("image");
    const Cursor reference = image.child("reference");
    if (image.present())
      out.images.push_back({intern_image(reference.string_or({}), symbols), model::ImageRef::Kind::volume});
  });
}

void decode_spec(const Cursor& spec, const Cursor& status, const Defaulting* defaulting, const KeptParts& parts,
                 const FieldGates& gates, SymbolTable& symbols, model::Pod& pod) {
  const Cursor scheduler = spec.child("schedulerName");
  const Cursor node_name = spec.child("nodeName");
  const Cursor host_network = spec.child("hostNetwork");
  const Cursor host_users = spec.child("hostUsers");
  const Cursor group = spec.mapping("schedulingGroup");
  const Cursor group_name = group.child("podGroupName");
  model::PodSpec& out = pod.spec.edit();
  pod.scheduler_name = scheduler.string_or({});
  if (pod.scheduler_name.empty() && defaulting != nullptr)
    pod.scheduler_name = "default-scheduler";  // SetDefaults_PodSpec
  if (const std::string_view node = node_name.string_or({}); !node.empty()) pod.node_name = symbols.intern(node);
  out.host_network = host_network.boolean().value_or(false);
  out.host_users_false = !host_users.boolean().value_or(true);
  out.group = group_name.string_or({});
  decode_priority(spec, defaulting, pod);
  const Cursor grace = spec.child("terminationGracePeriodSeconds");
  out.grace_seconds = std::max<std::int64_t>(grace.integer().value_or(30), 0);
  pod.requests = decode_requests(spec, status, defaulting != nullptr, gates, symbols);
  out.tolerations = decode_tolerations(spec, defaulting != nullptr, gates, symbols);
  pod.node_selection = decode_node_selection(spec, symbols);
  out.affinity = decode_pod_affinity(spec, pod, defaulting != nullptr, symbols);
  out.spread = decode_spread(spec, pod, defaulting != nullptr, gates, symbols);
  decode_containers(spec, defaulting != nullptr, symbols, out);
  pod.volumes = decode_volumes(spec, pod.name, parts.plain_volumes);
  pod.node_volumes = node_volumes_of(pod, symbols);
  const Cursor claims = spec.sequence("resourceClaims");
  claims.each([&](const Cursor& claim) {
    const Cursor name = claim.child("name");
    const Cursor its_claim = claim.child("resourceClaimName");
    const Cursor its_template = claim.child("resourceClaimTemplateName");
    out.resource_claims.push_back({std::string(name.string_or({})), std::string(its_claim.string_or({})),
                                   std::string(its_template.string_or({}))});
  });
  const Cursor scheduling_gates = spec.sequence("schedulingGates");
  scheduling_gates.each([&](const Cursor& gate) {
    const Cursor name = gate.child("name");
    out.gates.emplace_back(name.string_or({}));
  });
}

void decode_claim_statuses(const Cursor& status, model::Pod& pod) {
  const Cursor generated = status.sequence("resourceClaimStatuses");
  generated.each([&](const Cursor& each) {
    const Cursor name = each.child("name");
    const Cursor claim = each.child("resourceClaimName");
    pod.claim_statuses.edit().generated.push_back({std::string(name.string_or({})), std::string(claim.string_or({}))});
  });
  if (const Cursor extended = status.child("extendedResourceClaimStatus"); extended.present())
    pod.claim_statuses.edit().extended = text::to_json(extended.value());
}

void decode_status(const Cursor& status, const Defaulting* defaulting, SymbolTable& symbols, model::Pod& pod) {
  const Cursor phase = status.child("phase");
  const Cursor started = status.child("startTime");
  const Cursor nominated = status.child("nominatedNodeName");
  pod.phase = phase.string_or({});
  if (pod.phase.empty() && defaulting != nullptr) pod.phase = "Pending";  // pkg/registry/core/pod/strategy.go
  pod.start_ns = decode_time_ns(started);
  if (const std::string_view node = nominated.string_or({}); !node.empty()) pod.nominated_node = symbols.intern(node);
  const Cursor conditions = status.sequence("conditions");
  conditions.each([&](const Cursor& condition) {
    const Cursor type = condition.child("type");
    const Cursor state = condition.child("status");
    const Cursor reason = condition.child("reason");
    const Cursor message = condition.child("message");
    pod.conditions.push_back({std::string(type.string_or({})), std::string(state.string_or({})),
                              std::string(reason.string_or({})), std::string(message.string_or({}))});
  });
  decode_claim_statuses(status, pod);
}

}  // namespace

void decode_charge(const Cursor& object, const FieldGates& gates, SymbolTable& symbols) {
  const Cursor spec = object.mapping("spec");
  const Cursor status = object.mapping("status");
  const Cursor containers = spec.sequence("containers");
  if (!containers.present() || containers.value().elements().empty())
    containers.add_error("a pod needs at least one container");
  decode_requests(spec, status, false, gates, symbols);
}

model::Pod decode_pod(const Cursor& object, const Defaulting* defaulting, const KeptParts& parts,
                      const FieldGates& gates, SymbolTable& symbols) {
  model::Pod pod;
  const Cursor metadata = object.mapping("metadata");
  const Cursor spec = object.mapping("spec");
  const Cursor status = object.mapping("status");
  decode_metadata(metadata, defaulting, parts, symbols, pod);
  decode_spec(spec, status, defaulting, parts, gates, symbols, pod);
  decode_status(status, defaulting, symbols, pod);
  return pod;
}

}  // namespace berth::decode
