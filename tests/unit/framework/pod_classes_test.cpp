// SPDX-License-Identifier: Apache-2.0
#include "framework/view/pod_classes.hpp"

#include "unit/framework/full_pod.hpp"

namespace berth::framework::testing {
namespace {

PodFields asking(std::uint32_t groups) {
  PodFields fields;
  fields.groups = groups;
  return fields;
}

/// One change of a pod, and the group that shows it.
struct Change {
  std::uint32_t group;
  void (*apply)(model::Pod&);
};

constexpr Change k_changes[] = {
    {BERTH_POD_REQUESTS, [](model::Pod& p) { ++p.requests.edit().resources[0].effective; }},
    {BERTH_POD_REQUESTS, [](model::Pod& p) { ++p.requests.edit().resources[3].scoring; }},
    {BERTH_POD_LABELS, [](model::Pod& p) { ++p.labels.edit()[1].value; }},
    {BERTH_POD_LABELS, [](model::Pod& p) { p.labels.edit().pop_back(); }},
    {BERTH_POD_TOLERATIONS, [](model::Pod& p) { ++p.spec.edit().tolerations.edit()[0].seconds; }},
    {BERTH_POD_PRIORITY, [](model::Pod& p) { ++p.priority; }},
    {BERTH_POD_NAMESPACE, [](model::Pod& p) { ++p.ns_symbol; }},
    {BERTH_POD_NODE_SELECTION, [](model::Pod& p) { p.node_selection.edit().has_required = true; }},
    {BERTH_POD_PORTS, [](model::Pod& p) { ++p.spec.edit().host_ports.edit()[0].port; }},
    {BERTH_POD_IMAGES, [](model::Pod& p) { ++p.spec.edit().container_count; }},
    {BERTH_POD_SPREAD, [](model::Pod& p) { p.spec.edit().spread.edit()[0].honor_node_taints = true; }},
    {BERTH_POD_AFFINITY,
     [](model::Pod& p) { p.spec.edit().affinity.anti_required.edit()[0].selector.requirements[0].values.clear(); }},
    {BERTH_POD_OWNER, [](model::Pod& p) { p.controller.edit().uid += "x"; }},
    {BERTH_POD_GATES, [](model::Pod& p) { p.spec.edit().gates.clear(); }},
    {BERTH_POD_SPEC_FLAGS, [](model::Pod& p) { p.spec.edit().host_users_false = true; }},
    {BERTH_POD_PLACEMENT, [](model::Pod& p) { p.nominated_node = 0; }},
    {BERTH_POD_VOLUMES, [](model::Pod& p) { p.volumes.edit()[0].read_only = false; }},
    {BERTH_POD_ANNOTATIONS, [](model::Pod& p) { ++p.annotations.edit()[0].value; }},
    {BERTH_POD_GROUP, [](model::Pod& p) { p.spec.edit().group = "other"; }},
    {BERTH_POD_CONTAINERS, [](model::Pod& p) { ++p.requests.edit().containers[0].amounts[0].limit; }},
    {BERTH_POD_CONTAINERS, [](model::Pod& p) { p.requests.edit().overhead[0].has_request = false; }},
};

/// A pod with labels that no other has, `first` and so on.
model::Pod with_labels(Symbol first, std::size_t count) {
  model::Pod pod;
  std::vector<model::Label> labels;
  for (std::size_t i = 0; i < count; ++i) labels.push_back({first + static_cast<Symbol>(i), 7});
  pod.labels = labels;
  return pod;
}

TEST(PodClasses, KeepNoMoreThanTheirBudgetOfBytes) {
  PodClasses classes(asking(BERTH_POD_LABELS), 0);
  const std::uint64_t first = classes.class_of(with_labels(1, 3000));
  EXPECT_EQ(classes.class_of(with_labels(1, 3000)), first);
  for (Symbol i = 2; i < 2000; ++i) {
    classes.class_of(with_labels(i, 3000));
    ASSERT_LE(classes.bytes(), PodClasses::k_key_bytes_max);
  }
  EXPECT_NE(classes.class_of(with_labels(1, 3000)), first) << "emptied since";
  const std::uint64_t too_large = classes.class_of(with_labels(1, 5'000'000));
  EXPECT_NE(classes.class_of(with_labels(1, 5'000'000)), too_large) << "kept for no pod";
}

TEST(PodClasses, InUseAreKeptWhileOthersAreForgotten) {
  PodClasses classes(asking(BERTH_POD_LABELS), 0);
  const std::uint64_t first = classes.class_of(with_labels(1, 300));
  for (Symbol i = 2; i < 20'000; ++i) {  // each a class that never comes again
    ASSERT_NE(classes.class_of(with_labels(i, 300)), first);
    if (i % 100 == 0) {
      ASSERT_EQ(classes.class_of(with_labels(1, 300)), first) << i;
    }
  }
}

TEST(PodClasses, AreForgottenBeforeSymbolsMeanSomethingElse) {
  SymbolTable symbols({1 << 16, std::size_t{1} << 30, 0, 4096, 64});
  PodClasses classes(asking(BERTH_POD_LABELS), 0, &symbols);
  const model::Pod pod = with_labels(1, 1);
  const std::uint64_t before = classes.class_of(pod);
  EXPECT_EQ(classes.class_of(pod), before);
  for (int i = 0; i < 100; ++i) {
    SymbolCollection gone(symbols);
    symbols.intern("label-" + std::to_string(i));
  }
  EXPECT_NE(classes.class_of(pod), before);
}

TEST(PodClasses, DifferExactlyByWhatWasAskedFor) {
  cache::testing::CacheFixture f;
  const auto pod = full_pod(f);
  for (const std::uint32_t group : k_groups) {
    if (group == BERTH_POD_IDENTITY || group == BERTH_POD_JSON) continue;
    PodClasses classes(asking(group), 0);
    const std::uint64_t base = classes.class_of(*pod);
    for (const Change& change : k_changes) {
      model::Pod other = *pod;
      change.apply(other);
      EXPECT_EQ(classes.class_of(other) != base, change.group == group)
          << "asked for " << group << ", change " << &change - k_changes;
    }
    EXPECT_EQ(classes.class_of(*pod), base);
  }
}

TEST(PodClasses, AreSharedByPodsWhoseVolumesNoPluginJudges) {
  PodClasses classes(asking(BERTH_POD_STORAGE), 0);
  const auto class_of = [&](const std::string& uid, std::vector<model::PodVolume> volumes) {
    model::Pod pod;
    pod.uid = uid;
    for (const model::PodVolume& volume : volumes)
      if (volume.kind != model::PodVolume::Kind::other)
        pod.node_volumes.push_back({1, 2, 0, 0, static_cast<std::uint32_t>(volume.kind), 0});
    pod.volumes = std::move(volumes);
    return classes.class_of(pod);
  };
  using Kind = model::PodVolume::Kind;
  const std::uint64_t plain = class_of("u", {});
  EXPECT_EQ(class_of("v", {{"kube-api-access-x2b7q", "", Kind::other, false}}), plain);
  const std::uint64_t disk = class_of("u", {{"d", "{}", Kind::inline_source, false}});
  EXPECT_NE(disk, plain);
  EXPECT_EQ(class_of("v", {{"kube-api-access-9f3aa", "", Kind::other, false}, {"d", "{}", Kind::inline_source, false}}),
            disk);
  const std::uint64_t claim = class_of("u", {{"d", "c", Kind::claim, false}});
  EXPECT_NE(class_of("v", {{"d", "c", Kind::claim, false}}), claim) << "who names claims is a class of its own";
  EXPECT_EQ(class_of("u", {{"d", "c", Kind::claim, false}}), claim);
}

TEST(PodClasses, AreSharedByPodsThatDifferInNameOnly) {
  cache::testing::CacheFixture f;
  const auto a = full_pod(f), b = full_pod(f);
  b->name = "other";
  b->uid = "uid-other";
  PodClasses classes(asking(BERTH_POD_REQUESTS | BERTH_POD_LABELS), 0);
  EXPECT_NE(classes.class_of(*a), 0u);
  EXPECT_EQ(classes.class_of(*a), classes.class_of(*b));
}

TEST(PodClasses, AreOfOnePodEachWhereItsIdentityOrJsonIsSeen) {
  cache::testing::CacheFixture f;
  const auto pod = full_pod(f);
  for (const std::uint32_t group : {BERTH_POD_IDENTITY, BERTH_POD_JSON}) {
    PodClasses classes(asking(group), 0);
    const std::uint64_t first = classes.class_of(*pod);
    EXPECT_NE(classes.class_of(*full_pod(f)), first) << group;
  }
}

TEST(PodClasses, SeeOnlyTheLabelsAskedFor) {
  cache::testing::CacheFixture f;
  PodFields fields;
  fields.labels = {f.symbols.intern("app")};
  PodClasses classes(fields, 0);
  const auto pod = full_pod(f);
  const std::uint64_t base = classes.class_of(*pod);
  model::Pod other = *pod;
  other.labels.edit().pop_back();
  EXPECT_EQ(classes.class_of(other), base);
  other.labels.edit()[0].value = f.symbols.intern("db");
  EXPECT_NE(classes.class_of(other), base);
}

TEST(PodClasses, OfPodsThatNeedAnAbsentPluginAreTheirOwn) {
  cache::testing::CacheFixture f;
  PodClasses classes(asking(0), 0);
  const auto pod = full_pod(f);
  model::Pod needy = *pod;
  needy.spec.edit().unsupported = {{"VolumeBinding", "spec.volumes[0]"}};
  EXPECT_NE(classes.class_of(needy), classes.class_of(*pod));
}

TEST(PodClasses, OfDifferentProfilesNeverMeet) {
  cache::testing::CacheFixture f;
  PodClasses first(asking(0), 0), second(asking(0), 1);
  EXPECT_NE(first.class_of(*full_pod(f)), second.class_of(*full_pod(f)));
}

}  // namespace
}  // namespace berth::framework::testing
