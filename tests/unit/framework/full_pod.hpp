// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "unit/framework/framework_fixture.hpp"

namespace berth::framework::testing {

inline constexpr std::array<std::uint32_t, 24> k_groups = {
    BERTH_POD_REQUESTS, BERTH_POD_LABELS,         BERTH_POD_TOLERATIONS, BERTH_POD_PRIORITY,   BERTH_POD_NAMESPACE,
    BERTH_POD_IDENTITY, BERTH_POD_NODE_SELECTION, BERTH_POD_PORTS,       BERTH_POD_IMAGES,     BERTH_POD_SPREAD,
    BERTH_POD_AFFINITY, BERTH_POD_OWNER,          BERTH_POD_GATES,       BERTH_POD_SPEC_FLAGS, BERTH_POD_PLACEMENT,
    BERTH_POD_VOLUMES,  BERTH_POD_ANNOTATIONS,    BERTH_POD_GROUP,       BERTH_POD_JSON,       BERTH_POD_CONTAINERS,
    BERTH_POD_STATUS,   BERTH_POD_CREATED,        BERTH_POD_SCHEDULING,  BERTH_POD_QOS};

/// A pod that has something of every group.
inline std::shared_ptr<model::Pod> full_pod(cache::testing::CacheFixture& f) {
  auto pod = f.make_pod("full", "here", 250);
  const auto symbol = [&](const char* text) { return f.symbols.intern(text); };
  pod->requests.edit().resources.push_back({symbol("example.com/gpu"), true, true, 2, 3, 4});
  pod->requests.edit().containers = {
      {model::ContainerResources::Kind::sidecar, {{symbol("cpu"), true, true, 100, 250}}},
      {model::ContainerResources::Kind::app, {}}};
  pod->requests.edit().overhead = {{symbol("memory"), true, false, 64, 0}};
  pod->labels = {{symbol("app"), symbol("web")}, {symbol("tier"), symbol("front")}, {symbol("zone"), symbol("z")}};
  pod->spec.edit().tolerations = {
      {symbol("k"), symbol("v"), model::TolerationOperator::exists, model::TaintEffect::no_execute, 30}};
  pod->priority = 7;
  pod->node_selection.edit().has_selector = true;
  pod->node_selection.edit().selector = {{symbol("disk"), symbol("ssd")}};
  pod->spec.edit().host_ports = {{symbol("0.0.0.0"), symbol("TCP"), 80, 1}};
  pod->spec.edit().images = {{symbol("app:1"), model::ImageRef::Kind::container}};
  pod->spec.edit().container_count = 2;
  model::SpreadConstraint spread;
  spread.max_skew = 3;
  spread.min_domains = 2;
  spread.topology_key = symbol("zone");
  spread.action = model::SpreadAction::schedule_anyway;
  pod->spec.edit().spread = {spread};
  pod->spec.edit().affinity.present = true;
  model::AffinityTerm term;
  term.topology_key = symbol("rack");
  term.weight = 9;
  term.selector.kind = model::Selector::Kind::match;
  term.selector.requirements = {{symbol("app"), model::Operator::in, {symbol("web")}, 0}};
  pod->spec.edit().affinity.anti_required = {term};
  pod->controller = model::OwnerReference{"apps/v1", "ReplicaSet", "rs", "uid-rs"};
  pod->spec.edit().gates = {"example.com/gate"};
  pod->spec.edit().host_network = true;
  pod->nominated_node = symbol("there");
  pod->volumes = {{"data", "claim", model::PodVolume::Kind::claim, true}};
  pod->annotations = {{symbol("note"), symbol("text")}};
  pod->spec.edit().group = "gang";
  pod->phase = "Running";
  pod->start_ns = 2'000'000'000;
  pod->deleting = true;
  pod->deletion_s = 3;
  pod->creation_ns = 1'000'000'000;
  pod->scheduler_name = "other";
  pod->spec.edit().preempts = false;
  pod->requests.edit().qos = model::Qos::burstable;
  pod->body = PackedText(R"({"spec":{"odd":1}})");
  return pod;
}

}  // namespace berth::framework::testing
