// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <type_traits>
#include <vector>

#include "model/node.hpp"
#include "model/object.hpp"
#include "model/pod.hpp"
#include "recording/record.hpp"

/// Which members of a pod and a node are recorded, and under which names: written once, for the bytes of a recording in
/// both directions and for JSON. What is not here is never recorded: whole objects as JSON, and with them containers'
/// commands and environment.
///
/// An archive has number(), code() (a framework::Code), text(), word() (a text that comes again), symbol(), symbols(),
/// labels(), list(), object(), shared() and part() (what pods share). The order of the calls is the format: additions
/// need another version.
namespace berth::recording {

/// What stands before a word or part: none (of parts, and absent symbols), or it follows and is remembered, or it
/// follows; from k_first_number on, the number of one that was remembered.
inline constexpr std::uint64_t k_none = 0, k_remembered = 1, k_plain = 2, k_first_number = 3;

template <typename Archive, typename T>
void label_fields(Archive& a, T& label) {
  a.symbol("key", label.key);
  a.symbol("value", label.value);
}
template <typename Archive, typename T>
void text_field(Archive& a, T& text) {
  a.word("", text);
}

template <typename Archive, typename T>
void requirement_fields(Archive& a, T& requirement) {
  a.symbol("key", requirement.key);
  a.number("operator", requirement.op);
  a.symbols("values", requirement.values);
  a.number("number", requirement.number);
}

template <typename Archive, typename T>
void selector_fields(Archive& a, T& selector) {
  a.number("kind", selector.kind);
  a.list("requirements", selector.requirements, [](auto& in, auto& each) { requirement_fields(in, each); });
  a.text("error", selector.error);
}

template <typename Archive, typename T>
void node_term_fields(Archive& a, T& term) {
  a.list("expressions", term.expressions, [](auto& in, auto& each) { requirement_fields(in, each); });
  a.list("fields", term.fields, [](auto& in, auto& each) { requirement_fields(in, each); });
  a.number("weight", term.weight);
  a.text("error", term.error);
}

template <typename Archive, typename T>
void affinity_term_fields(Archive& a, T& term) {
  a.object("selector", term.selector, [](auto& in, auto& each) { selector_fields(in, each); });
  a.object("namespaceSelector", term.namespace_selector, [](auto& in, auto& each) { selector_fields(in, each); });
  a.symbols("namespaces", term.namespaces);
  a.symbol("topologyKey", term.topology_key);
  a.number("weight", term.weight);
}

template <typename Archive, typename T>
void spread_fields(Archive& a, T& constraint) {
  a.object("selector", constraint.selector, [](auto& in, auto& each) { selector_fields(in, each); });
  a.symbols("matchLabelKeys", constraint.match_label_keys);
  a.symbol("topologyKey", constraint.topology_key);
  a.number("maxSkew", constraint.max_skew);
  a.number("minDomains", constraint.min_domains);
  a.number("action", constraint.action);
  a.number("honorNodeAffinity", constraint.honor_node_affinity);
  a.number("honorNodeTaints", constraint.honor_node_taints);
}

template <typename Archive, typename T>
void taint_fields(Archive& a, T& taint) {
  a.symbol("key", taint.key);
  a.symbol("value", taint.value);
  a.number("effect", taint.effect);
}

template <typename Archive, typename T>
void toleration_fields(Archive& a, T& toleration) {
  a.symbol("key", toleration.key);
  a.symbol("value", toleration.value);
  a.number("operator", toleration.op);
  a.number("effect", toleration.effect);
  a.number("seconds", toleration.seconds);
}

template <typename Archive, typename T>
void amount_fields(Archive& a, T& amount) {
  a.symbol("name", amount.name);
  a.number("hasRequest", amount.has_request);
  a.number("hasLimit", amount.has_limit);
  a.number("request", amount.request);
  a.number("limit", amount.limit);
}

template <typename Archive, typename T>
void requests_fields(Archive& a, T& requests) {
  a.list("resources", requests.resources, [](auto& in, auto& each) {
    in.symbol("name", each.name);
    in.number("scalar", each.scalar);
    in.number("extended", each.extended);
    in.number("request", each.request);
    in.number("effective", each.effective);
    in.number("scoring", each.scoring);
  });
  a.list("containers", requests.containers, [](auto& in, auto& each) {
    in.number("kind", each.kind);
    in.list("amounts", each.amounts, [](auto& i, auto& e) { amount_fields(i, e); });
    in.word("name", each.name);
  });
  a.list("overhead", requests.overhead, [](auto& in, auto& each) { amount_fields(in, each); });
  a.list("whole", requests.whole, [](auto& in, auto& each) { amount_fields(in, each); });
  a.number("nonzeroCpuMilli", requests.nonzero_cpu_milli);
  a.number("nonzeroMemoryBytes", requests.nonzero_memory_bytes);
  a.number("qos", requests.qos);
}

template <typename Archive, typename T>
void selection_fields(Archive& a, T& selection) {
  a.number("hasSelector", selection.has_selector);
  a.labels("selector", selection.selector);
  a.number("hasRequired", selection.has_required);
  a.list("required", selection.required, [](auto& in, auto& each) { node_term_fields(in, each); });
  a.number("hasPreferred", selection.has_preferred);
  a.list("preferred", selection.preferred, [](auto& in, auto& each) { node_term_fields(in, each); });
}

template <typename Archive, typename T>
void spec_fields(Archive& a, T& spec) {
  a.number("generation", spec.generation);
  a.number("graceSeconds", spec.grace_seconds);
  a.list("tolerations", spec.tolerations, [](auto& in, auto& each) { toleration_fields(in, each); });
  a.object("affinity", spec.affinity, [](auto& in, auto& affinity) {
    const auto terms = [](auto& i, auto& each) { affinity_term_fields(i, each); };
    in.number("present", affinity.present);
    in.list("required", affinity.required, terms);
    in.list("preferred", affinity.preferred, terms);
    in.list("antiRequired", affinity.anti_required, terms);
    in.list("antiPreferred", affinity.anti_preferred, terms);
  });
  a.list("spread", spec.spread, [](auto& in, auto& each) { spread_fields(in, each); });
  a.list("hostPorts", spec.host_ports, [](auto& in, auto& each) {
    in.symbol("ip", each.ip);
    in.symbol("protocol", each.protocol);
    in.number("port", each.port);
    in.number("anyIp", each.any_ip);
  });
  a.list("images", spec.images, [](auto& in, auto& each) {
    in.symbol("name", each.name);
    in.number("kind", each.kind);
  });
  a.number("containerCount", spec.container_count);
  a.number("preempts", spec.preempts);
  a.number("hostNetwork", spec.host_network);
  a.number("hostUsersFalse", spec.host_users_false);
  a.number("restartsAllContainers", spec.restarts_all_containers);
  a.list("gates", spec.gates, [](auto& in, auto& each) { text_field(in, each); });
  a.list("resourceClaims", spec.resource_claims, [](auto& in, auto& each) {
    in.word("name", each.name);
    in.word("claim", each.claim);
    in.word("claimTemplate", each.claim_template);
  });
  a.word("group", spec.group);
  a.list("unsupported", spec.unsupported, [](auto& in, auto& each) {
    in.word("plugin", each.plugin);
    in.word("field", each.field);
  });
  a.list("managedResources", spec.managed_resources, [](auto& in, auto& each) { in.symbol("", each); });
}

template <typename Archive, typename T>
void pod_fields(Archive& a, T& pod) {
  a.word("namespace", pod.ns);
  a.text("name", pod.name);
  a.text("uid", pod.uid);
  a.text("resourceVersion", pod.resource_version);
  a.number("creationNs", pod.creation_ns);
  a.number("startNs", pod.start_ns);
  a.part("labels", pod.labels);
  a.labels("annotations", pod.annotations);
  a.part("controller", pod.controller);
  a.word("schedulerName", pod.scheduler_name);
  a.part("requests", pod.requests);
  a.part("nodeSelection", pod.node_selection);
  a.part("spec", pod.spec);
  a.list("volumes", pod.volumes, [](auto& in, auto& each) {
    in.word("name", each.name);
    in.text("source", each.source);
    in.number("kind", each.kind);
    in.number("readOnly", each.read_only);
  });
  a.list("nodeVolumes", pod.node_volumes, [](auto& in, auto& each) {
    in.symbol("namespace", each.ns);
    in.symbol("source", each.source);
    in.symbol("podName", each.pod_name);
    in.symbol("podUid", each.pod_uid);
    in.number("kind", each.kind);
  });
  a.word("phase", pod.phase);
  a.list("conditions", pod.conditions, [](auto& in, auto& each) {
    in.word("type", each.type);
    in.word("status", each.status);
    in.word("reason", each.reason);
    in.text("message", each.message);
  });
  a.shared("claimStatuses", pod.claim_statuses, [](auto& in, auto& statuses) {
    in.list("generated", statuses.generated, [](auto& i, auto& each) {
      i.word("name", each.name);
      i.text("claim", each.claim);
    });
    in.text("extended", statuses.extended);
  });
  a.symbol("node", pod.node_name);
  a.symbol("nominatedNode", pod.nominated_node);
  a.number("priority", pod.priority);
  a.number("deleting", pod.deleting);
  a.number("deletionS", pod.deletion_s);
}

template <typename Archive, typename T>
void node_fields(Archive& a, T& node) {
  a.text("name", node.name);
  a.text("uid", node.uid);
  a.text("resourceVersion", node.resource_version);
  a.number("hasLabels", node.has_labels);
  a.labels("labels", node.labels);
  a.labels("annotations", node.annotations);
  a.number("annotationsHash", node.annotations_hash);
  a.number("unschedulable", node.unschedulable);
  a.list("taints", node.taints, [](auto& in, auto& each) { taint_fields(in, each); });
  a.number("allowedPods", node.allowed_pods);
  const auto amounts = [](auto& in, auto& each) {
    in.symbol("name", each.name);
    in.number("amount", each.amount);
  };
  a.list("allocatable", node.allocatable, amounts);
  a.number("listsPods", node.lists_pods);
  a.list("capacity", node.capacity, amounts);
  a.list("images", node.images, [](auto& in, auto& each) {
    in.symbols("names", each.names);
    in.number("sizeBytes", each.size_bytes);
  });
  a.symbols("declaredFeatures", node.declared_features);
  a.list("conditions", node.conditions, [](auto& in, auto& each) {
    in.symbol("type", each.type);
    in.symbol("status", each.status);
  });
}

template <typename Archive, typename T>
void object_fields(Archive& a, T& object) {
  a.word("resource", object.resource);
  a.word("namespace", object.ns);
  a.text("name", object.name);
  a.text("uid", object.uid);
  a.text("resourceVersion", object.resource_version);
  a.json("fields", object.json);
  a.number("waitsForFirstConsumer", object.waits_for_first_consumer);
}

// What part() has shared among pods.
template <typename Archive, typename T>
void part_fields(Archive& a, T& part) {
  using Part = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Part, std::vector<model::Label>>)
    a.labels("", part);
  else if constexpr (std::is_same_v<Part, model::PodRequests>)
    requests_fields(a, part);
  else if constexpr (std::is_same_v<Part, model::NodeSelection>)
    selection_fields(a, part);
  else if constexpr (std::is_same_v<Part, model::PodSpec>)
    spec_fields(a, part);
  else {
    static_assert(std::is_same_v<Part, model::OwnerReference>);
    a.word("apiVersion", part.api_version);
    a.word("kind", part.kind);
    a.word("name", part.name);
    a.word("uid", part.uid);
  }
}

template <typename Archive, typename T>
void nominated_fields(Archive& a, T& nominated) {
  a.text("uid", nominated.uid);
  a.word("node", nominated.node);
  a.number("stub", nominated.is_stub);
}

template <typename Archive, typename T>
void rejected_fields(Archive& a, T& rejected) {
  a.code("code", rejected.code);
  a.word("message", rejected.message);
  a.list("rejectors", rejected.rejectors, [](auto& in, auto& each) { text_field(in, each); });
  a.number("nominates", rejected.nominates);
  a.word("nominated", rejected.nominated);
  a.list("victims", rejected.victims, [](auto& in, auto& each) { text_field(in, each); });
}

/// The rest of a record, after its kind and moment.
template <typename Archive, typename T>
void record_fields(Archive& a, T& record) {
  switch (record.kind) {
    case Kind::description:
      return a.json("description", record.text);
    case Kind::clock:
      return a.number("wallNs", record.wall_ns);
    case Kind::gap:
      return a.number("missing", record.count);
    case Kind::node:
      return a.pointer("node", record.node, [](auto& in, auto& node) { node_fields(in, node); });
    case Kind::node_gone:
      return a.text("node", record.text);
    case Kind::placed_pod:
      a.word("assumedOn", record.text);
      [[fallthrough]];
    case Kind::waiting_pod:
      return a.pointer("pod", record.pod, [](auto& in, auto& pod) { pod_fields(in, pod); });
    case Kind::placed_pod_gone:
    case Kind::waiting_pod_gone:
    case Kind::given_back:
      return a.text("uid", record.text);
    case Kind::object:
    case Kind::object_gone:
      return a.pointer("object", record.object, [](auto& in, auto& object) { object_fields(in, object); });
    case Kind::look:
    case Kind::state_begins:
    case Kind::state_ends:
      return;
    case Kind::attempt:
      a.number("attempt", record.attempt.number);
      a.number("evaluated", record.attempt.evaluated);
      a.number("feasible", record.attempt.feasible);
      a.number("needed", record.attempt.needed);
      a.number("membersLeft", record.attempt.members_left);
      a.number("way", record.attempt.way);
      a.number("rotation", record.attempt.rotation);
      a.number("tookNs", record.attempt.took_ns);
      a.word("node", record.text);
      a.pointer("rejected", record.rejected, [](auto& in, auto& rejected) { rejected_fields(in, rejected); });
      a.pointer("pod", record.pod, [](auto& in, auto& pod) { pod_fields(in, pod); });
      return a.last_number("total", record.attempt.total);
    case Kind::nominations:
      return a.pointer("nominations", record.nominations, [](auto& in, auto& all) {
        in.list("all", all, [](auto& i, auto& each) { nominated_fields(i, each); });
      });
    case Kind::write:
      return a.pointer("write", record.written, [](auto& in, auto& written) {
        in.word("what", written.what);
        in.text("pod", written.pod);
        in.text("uid", written.uid);
        in.word("node", written.node);
        in.word("error", written.error);
      });
    case Kind::plugin_times:
      a.number("inNs", record.count);
      return a.pointer("pluginTimes", record.plugin_times, [](auto& in, auto& all) {
        in.list("all", all, [](auto& i, auto& each) {
          i.word("plugin", each.plugin);
          i.word("point", each.point);
          i.number("calls", each.calls);
          i.number("tookNs", each.took_ns);
        });
      });
  }
}

}  // namespace berth::recording
