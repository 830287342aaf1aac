// SPDX-License-Identifier: Apache-2.0
#include "model/event.hpp"

#include <gtest/gtest.h>

namespace berth::model {
namespace {

using R = EventResource;

TEST(ClusterEvent, IsNamedAsInMetrics) {
  EXPECT_EQ((ClusterEvent{R::node, actions::update_node_taint}).name(), "NodeUpdateNodeTaint");
  EXPECT_EQ((ClusterEvent{R::assigned_pod, actions::remove}).name(), "AssignedPodDelete");
  EXPECT_EQ((ClusterEvent{R::unschedulable_pod, actions::update}).name(), "UnschedulablePodUpdate");
  EXPECT_EQ((ClusterEvent{R::csi_node, actions::add}).name(), "storage.k8s.io/CSINodeAdd");
  EXPECT_EQ((ClusterEvent{R::node, actions::add | actions::remove}).name(), "Node");
  EXPECT_EQ((ClusterEvent{R::any, actions::all, "UnschedulableTimeout"}).name(), "UnschedulableTimeout");
}

TEST(ClusterEvent, ReachesTheRegistrationsThatUpstreamWouldTell) {
  struct Case {
    std::string_view name;
    ClusterEvent registered, incoming;
    bool want;
  };
  const ClusterEvent everything{R::any, actions::all};
  const Case cases[] = {
      {"wildcard hears all", everything, {R::node, actions::add}, true},
      {"wildcard hears a wildcard", everything, everything, true},
      {"a wildcard event reaches only wildcards", {R::pod, actions::all}, everything, false},
      {"any resource, one action", {R::any, actions::add}, {R::node, actions::add}, true},
      {"any resource, other action", {R::any, actions::add}, {R::node, actions::remove}, false},
      {"pod hears assigned pods", {R::pod, actions::remove}, {R::assigned_pod, actions::remove}, true},
      {"pod hears unschedulable pods",
       {R::pod, actions::update_pod_label},
       {R::unschedulable_pod, actions::update_pod_label},
       true},
      {"assigned pod does not hear unschedulable ones",
       {R::assigned_pod, actions::add},
       {R::unschedulable_pod, actions::add},
       false},
      {"other resource", {R::node, actions::add}, {R::assigned_pod, actions::add}, false},
      {"general update misses a single bit", {R::node, actions::update_node_taint}, {R::node, actions::update}, false},
      {"general update reaches update", {R::pod, actions::update}, {R::assigned_pod, actions::update}, true},
      {"single bit reaches update", {R::pod, actions::update}, {R::assigned_pod, actions::update_pod_label}, true},
      {"single bit reaches add and bit",
       {R::node, actions::add | actions::update_node_label},
       {R::node, actions::update_node_label},
       true},
      {"two bits above the registration",
       {R::node, actions::add | actions::update_node_allocatable},
       {R::node, actions::update_node_allocatable | actions::update_node_label},
       false},
  };
  for (const Case& c : cases) EXPECT_EQ(matches(c.registered, c.incoming), c.want) << c.name;
}

}  // namespace
}  // namespace berth::model
