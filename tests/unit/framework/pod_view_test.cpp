// SPDX-License-Identifier: Apache-2.0
#include "unit/framework/full_pod.hpp"

namespace berth::framework::testing {
namespace {

/// The groups of which a view shows anything at all.
std::uint32_t shown(const berth_pod_v1& v) {
  const std::pair<std::uint32_t, bool> groups[] = {
      {BERTH_POD_REQUESTS, v.resources != nullptr || v.resource_count != 0},
      {BERTH_POD_LABELS, v.labels != nullptr || v.label_count != 0},
      {BERTH_POD_TOLERATIONS, v.tolerations != nullptr || v.toleration_count != 0},
      {BERTH_POD_PRIORITY, v.priority != 0},
      {BERTH_POD_NAMESPACE, v.ns != 0},
      {BERTH_POD_IDENTITY, v.name.ptr != nullptr || v.uid.ptr != nullptr},
      {BERTH_POD_NODE_SELECTION, v.node_selection != nullptr},
      {BERTH_POD_PORTS, v.host_ports != nullptr || v.host_port_count != 0},
      {BERTH_POD_IMAGES, v.images != nullptr || v.image_count != 0 || v.container_count != 0},
      {BERTH_POD_SPREAD, v.spread != nullptr || v.spread_count != 0},
      {BERTH_POD_AFFINITY, v.affinity != nullptr},
      {BERTH_POD_OWNER, v.owner_api_version.ptr != nullptr || v.owner_kind.ptr != nullptr ||
                            v.owner_name.ptr != nullptr || v.owner_uid.ptr != nullptr},
      {BERTH_POD_GATES, v.gates != nullptr || v.gate_count != 0},
      {BERTH_POD_SPEC_FLAGS, v.spec_flags != 0},
      {BERTH_POD_PLACEMENT, v.node_name != 0 || v.nominated_node != 0},
      {BERTH_POD_VOLUMES, v.volumes != nullptr || v.volume_count != 0},
      {BERTH_POD_ANNOTATIONS, v.annotations != nullptr || v.annotation_count != 0},
      {BERTH_POD_GROUP, v.group.ptr != nullptr},
      {BERTH_POD_JSON, v.json.ptr != nullptr},
      {BERTH_POD_CONTAINERS,
       v.containers != nullptr || v.resource_container_count != 0 || v.overhead != nullptr || v.overhead_count != 0},
      {BERTH_POD_STATUS, v.phase != 0 || v.start_ns != 0 || v.deletion_ns != 0},
      {BERTH_POD_CREATED, v.created_ns != 0},
      {BERTH_POD_SCHEDULING, v.scheduler_name.ptr != nullptr || v.preemption_policy != 0},
      {BERTH_POD_QOS, v.qos != 0}};
  std::uint32_t bits = 0;
  for (const auto& [group, there] : groups) bits |= there ? group : 0;
  return bits;
}

struct ViewFixture : cache::testing::CacheFixture {
  ViewFixture() { reset(); }
  void reset() {
    arena.reset();
    view.reset(*pod, arena);
  }
  const berth_pod_v1& see(std::uint32_t groups) {
    PodFields fields;
    fields.groups = groups;
    return *view.view(fields);
  }
  std::shared_ptr<model::Pod> pod = full_pod(*this);
  Arena arena;
  PodView view;
};

TEST(PodView, ShowsWholeObjectsWhereBodiesAreKept) {
  ViewFixture f;
  const berth_str json = f.see(BERTH_POD_JSON).json;
  EXPECT_EQ(from_abi(json), R"({"apiVersion":"v1","kind":"Pod","spec":{"odd":1}})");
  EXPECT_EQ(f.see(BERTH_POD_JSON | BERTH_POD_PRIORITY).json.ptr, json.ptr) << "unpacked once";
  f.pod->body = {};
  f.reset();
  EXPECT_EQ(from_abi(f.see(BERTH_POD_JSON).json), "");
}

TEST(PodView, ShowsExactlyTheGroupsAskedFor) {
  ViewFixture f;
  std::uint32_t all = 0;
  for (const std::uint32_t group : k_groups) {
    EXPECT_EQ(shown(f.see(group)), group);
    all |= group;
  }
  EXPECT_EQ(shown(f.see(0)), 0u);
  EXPECT_EQ(shown(f.see(all)), all);
  EXPECT_EQ(shown(f.see(all & ~static_cast<std::uint32_t>(BERTH_POD_SPREAD))), all & ~BERTH_POD_SPREAD)
      << "what another plugin had built does not show";
  EXPECT_EQ(f.see(all).requests, nullptr) << "single requests are asked for one by one";
}

TEST(PodView, ShowsTimesPhaseAndWhatTheSchedulerIsTold) {
  ViewFixture f;
  const berth_pod_v1& v = f.see(BERTH_POD_STATUS | BERTH_POD_CREATED | BERTH_POD_SCHEDULING | BERTH_POD_QOS);
  EXPECT_EQ(v.phase, static_cast<std::uint32_t>(BERTH_PHASE_RUNNING));
  EXPECT_EQ(v.created_ns, 1'000'000'000);
  EXPECT_EQ(v.start_ns, 2'000'000'000);
  EXPECT_EQ(v.deletion_ns, 3'000'000'000);
  EXPECT_EQ(v.preemption_policy, static_cast<std::uint32_t>(BERTH_PREEMPT_NEVER));
  EXPECT_EQ(from_abi(v.scheduler_name), "other");
  EXPECT_EQ(v.qos, static_cast<std::uint32_t>(BERTH_QOS_BURSTABLE));
  f.pod->deletion_s = 0;  // a time before 1970, or none that can be read
  f.reset();
  EXPECT_EQ(f.see(BERTH_POD_STATUS).deletion_ns, 1) << "terminating all the same";
  f.pod->deleting = false;
  f.reset();
  EXPECT_EQ(f.see(BERTH_POD_STATUS).deletion_ns, 0);
}

TEST(PodView, ShowsTrapsWhereNothingWasAskedFor) {
  ViewFixture f;
  PodFields fields;
  fields.is_trapped = true;
  fields.groups = BERTH_POD_PRIORITY;
  const berth_pod_v1& v = *f.view.view(fields);
  EXPECT_EQ(v.priority, 7) << "asked for";
  const void* const trap = pod_trap().begin;
  ASSERT_NE(trap, nullptr);
  EXPECT_EQ(v.labels, trap);
  EXPECT_EQ(v.label_count, 1u) << "a loop over it touches the trap";
  EXPECT_EQ(v.affinity, trap);
  EXPECT_EQ(v.name.ptr, trap);
  EXPECT_EQ(v.json.len, 1u);
  EXPECT_EQ(v.qos, static_cast<std::uint32_t>(BERTH_NOT_REQUESTED));
  EXPECT_EQ(v.created_ns, BERTH_NOT_REQUESTED);
  EXPECT_DEATH(EXPECT_EQ(v.labels[0].key, 1u), "");
}

TEST(PodView, TrapsNoFieldOfWhichAnAskedGroupMayHaveNothingToSay) {
  ViewFixture f;
  PodFields fields;
  fields.is_trapped = true;
  for (const std::uint32_t group : k_groups) fields.groups |= group;
  fields.groups |= BERTH_POD_RESOURCE_CLAIMS | BERTH_POD_CLAIMS | BERTH_POD_STORAGE;
  fields.requests = {f.symbols.intern("cpu")};
  PodFields open = fields;
  open.is_trapped = false;
  const auto bytes_of = [](const berth_pod_v1& v) {
    return std::string_view(reinterpret_cast<const char*>(&v), sizeof v);
  };
  berth_pod_v1 trapped = *f.view.view(fields);
  const berth_pod_v1& plain = *f.view.view(open);
  trapped.requests = plain.requests;  // made for each view
  EXPECT_EQ(bytes_of(trapped), bytes_of(plain)) << "with all groups there are no traps";
  for (const std::uint32_t group : {BERTH_POD_STORAGE, BERTH_POD_CLAIMS}) {
    fields.groups = group;
    EXPECT_EQ(f.view.view(fields)->name.ptr, nullptr) << "it has no claims, and so no name";
  }
}

TEST(PodView, ShowsSingleLabelsInOrder) {
  ViewFixture f;
  PodFields fields;
  fields.labels = {f.symbols.intern("app"), f.symbols.intern("zone"), f.symbols.intern("absent")};
  std::sort(fields.labels.begin(), fields.labels.end());
  const berth_pod_v1* v = f.view.view(fields);
  ASSERT_EQ(v->label_count, 2u);
  EXPECT_EQ(v->labels[0].key, f.symbols.intern("app"));
  EXPECT_EQ(v->labels[0].value, f.symbols.intern("web"));
  EXPECT_EQ(v->labels[1].key, f.symbols.intern("zone"));
  fields.groups = BERTH_POD_LABELS;
  EXPECT_EQ(f.view.view(fields)->label_count, 3u) << "the group gives them all";
}

TEST(PodView, ShowsSingleRequestsInTheOrderOfAsking) {
  ViewFixture f;
  PodFields fields;
  fields.requests = {f.symbols.intern("example.com/gpu"), f.symbols.intern("absent"), f.symbols.intern("cpu")};
  const berth_pod_v1* v = f.view.view(fields);
  ASSERT_EQ(v->request_count, 3u);
  EXPECT_EQ(v->requests[0], 2);
  EXPECT_EQ(v->requests[1], 0);
  EXPECT_EQ(v->requests[2], 250);
  EXPECT_EQ(v->resources, nullptr);
}

TEST(PodView, CarriesValuesOver) {
  ViewFixture f;
  const berth_pod_v1& v =
      f.see(BERTH_POD_REQUESTS | BERTH_POD_TOLERATIONS | BERTH_POD_SPREAD | BERTH_POD_AFFINITY |
            BERTH_POD_NODE_SELECTION | BERTH_POD_VOLUMES | BERTH_POD_SPEC_FLAGS | BERTH_POD_IDENTITY);
  ASSERT_EQ(v.resource_count, 4u);
  EXPECT_EQ(v.resources[0].request, 250);
  EXPECT_EQ(v.resources[3].flags, static_cast<std::uint32_t>(BERTH_RESOURCE_SCALAR | BERTH_RESOURCE_EXTENDED));
  EXPECT_EQ(v.resources[3].effective, 3);
  EXPECT_EQ(v.resources[3].scoring, 4);
  EXPECT_EQ(v.tolerations[0].op, static_cast<std::uint32_t>(BERTH_TOLERATION_EXISTS));
  EXPECT_EQ(v.tolerations[0].effect, static_cast<std::uint32_t>(BERTH_EFFECT_NO_EXECUTE));
  EXPECT_EQ(v.tolerations[0].seconds, 30);
  EXPECT_EQ(v.spread[0].max_skew, 3);
  EXPECT_EQ(v.spread[0].when_unsatisfiable, static_cast<std::uint32_t>(BERTH_SPREAD_SCHEDULE_ANYWAY));
  EXPECT_EQ(v.spread[0].node_affinity_policy, static_cast<std::uint32_t>(BERTH_POLICY_HONOR));
  EXPECT_EQ(v.spread[0].node_taints_policy, static_cast<std::uint32_t>(BERTH_POLICY_IGNORE));
  ASSERT_EQ(v.affinity->anti_required_count, 1u);
  EXPECT_EQ(v.affinity->required_count, 0u);
  EXPECT_EQ(v.affinity->anti_required[0].topology_key, f.symbols.intern("rack"));
  EXPECT_EQ(v.affinity->anti_required[0].selector.requirements[0].values[0], f.symbols.intern("web"));
  EXPECT_EQ(v.node_selection->has_selector, 1u);
  EXPECT_EQ(v.node_selection->has_required, 0u);
  EXPECT_EQ(v.node_selection->selector[0].value, f.symbols.intern("ssd"));
  EXPECT_EQ(from_abi(v.volumes[0].source), "claim");
  EXPECT_EQ(v.volumes[0].read_only, 1u);
  EXPECT_EQ(v.spec_flags, static_cast<std::uint32_t>(BERTH_SPEC_HOST_NETWORK));
  EXPECT_EQ(from_abi(v.uid), "uid-full");
}

TEST(PodView, ShowsWhatEachContainerAsksForAndMayUse) {
  ViewFixture f;
  const berth_pod_v1& v = f.see(BERTH_POD_CONTAINERS);
  ASSERT_EQ(v.resource_container_count, 2u);
  EXPECT_EQ(v.containers[0].kind, static_cast<std::uint32_t>(BERTH_CONTAINER_SIDECAR));
  ASSERT_EQ(v.containers[0].amount_count, 1u);
  const berth_container_amount_v1& cpu = v.containers[0].amounts[0];
  EXPECT_EQ(cpu.name, f.symbols.intern("cpu"));
  EXPECT_EQ(cpu.flags, static_cast<std::uint32_t>(BERTH_AMOUNT_REQUEST | BERTH_AMOUNT_LIMIT));
  EXPECT_EQ(cpu.request, 100);
  EXPECT_EQ(cpu.limit, 250);
  EXPECT_EQ(v.containers[1].kind, static_cast<std::uint32_t>(BERTH_CONTAINER_APP));
  EXPECT_EQ(v.containers[1].amount_count, 0u);
  ASSERT_EQ(v.overhead_count, 1u);
  EXPECT_EQ(v.overhead[0].request, 64);
  EXPECT_EQ(v.overhead[0].flags, static_cast<std::uint32_t>(BERTH_AMOUNT_REQUEST));
}

TEST(PodView, IsEmptyAgainForTheNextPod) {
  ViewFixture f;
  EXPECT_EQ(f.see(BERTH_POD_TOLERATIONS).toleration_count, 1u);
  f.pod = f.make_pod("next");
  f.reset();
  EXPECT_EQ(f.see(BERTH_POD_TOLERATIONS).toleration_count, 0u);
  EXPECT_NE(f.see(BERTH_POD_AFFINITY).affinity, nullptr);
  EXPECT_EQ(f.see(BERTH_POD_AFFINITY).affinity->present, 0u);
}

}  // namespace
}  // namespace berth::framework::testing
