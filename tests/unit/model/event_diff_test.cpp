// SPDX-License-Identifier: Apache-2.0
#include "model/event_diff.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace berth::model {
namespace {

std::vector<std::string> names(const std::vector<ClusterEvent>& events) {
  std::vector<std::string> out;
  for (const ClusterEvent& event : events) out.push_back(event.name());
  return out;
}

using Names = std::vector<std::string>;

TEST(NodeUpdate, RaisesOneEventPerKindOfChange) {
  Node base;
  base.unschedulable = true;
  base.labels = {{10, 11}};
  base.allocatable = {{1, 4000}, {2, 100}};
  base.taints = {{20, 1, TaintEffect::no_schedule}};
  base.conditions = {{40, 41}, {42, 43}};
  base.declared_features = {30, 31};
  struct Case {
    std::string_view name;
    std::function<void(Node&)> change;
    Names want;
  };
  const Case cases[] = {
      {"nothing", [](Node&) {}, {}},
      {"uncordon", [](Node& n) { n.unschedulable = false; }, {"NodeUpdateNodeTaint"}},
      {"allocatable", [](Node& n) { n.allocatable[1].amount = 99; }, {"NodeUpdateNodeAllocatable"}},
      {"allowed pods", [](Node& n) { n.allowed_pods = 5; }, {"NodeUpdateNodeAllocatable"}},
      {"allocatable in another order", [](Node& n) { std::swap(n.allocatable[0], n.allocatable[1]); }, {}},
      {"label", [](Node& n) { n.labels.clear(); }, {"NodeUpdateNodeLabel"}},
      {"taint", [](Node& n) { n.taints.clear(); }, {"NodeUpdateNodeTaint"}},
      {"conditions in another order", [](Node& n) { std::swap(n.conditions[0], n.conditions[1]); }, {}},
      {"condition", [](Node& n) { n.conditions[0].status = 43; }, {"NodeUpdateNodeCondition"}},
      {"annotation",
       [](Node& n) {
         n.annotations = {{1, 1}};
       },
       {"NodeUpdateNodeAnnotation"}},
      {"features in another order",
       [](Node& n) { std::swap(n.declared_features[0], n.declared_features[1]); },
       {"NodeUpdateNodeDeclaredFeature"}},
      {"several, in order",
       [](Node& n) { n.unschedulable = false, n.labels.clear(), n.taints.clear(); },
       {"NodeUpdateNodeTaint", "NodeUpdateNodeLabel", "NodeUpdateNodeTaint"}},
  };
  for (const Case& c : cases) {
    Node changed = base;
    c.change(changed);
    EXPECT_EQ(names(node_update_events(base, changed)), c.want) << c.name;
  }
  Node cordoned = base;
  cordoned.unschedulable = true;
  base.unschedulable = false;
  EXPECT_TRUE(node_update_events(base, cordoned).empty());
}

TEST(PodUpdate, RaisesOneEventPerKindOfChangeElseAPlainUpdate) {
  Pod base;
  base.labels = {{1, 2}};
  base.spec.edit().gates = {"a", "b"};
  base.spec.edit().tolerations.edit().resize(1);
  base.requests.edit().resources = {{.name = 5, .effective = 100}, {.name = 6, .effective = 50}};
  struct Case {
    std::string_view name;
    std::function<void(Pod&)> change;
    Names want;
  };
  const Case cases[] = {
      {"nothing", [](Pod&) {}, {"UnschedulablePodUpdate"}},
      {"bound", [](Pod& p) { p.node_name = 9; }, {"AssignedPodUpdate"}},
      {"label", [](Pod& p) { p.labels.clear(); }, {"UnschedulablePodUpdatePodLabel"}},
      {"more", [](Pod& p) { p.requests.edit().resources[0].effective = 101; }, {"UnschedulablePodUpdate"}},
      {"less, on a node",
       [](Pod& p) { p.node_name = 9, p.requests.edit().resources[0].effective = 99; },
       {"AssignedPodUpdatePodScaleDown"}},
      {"resource dropped",
       [](Pod& p) { p.requests.edit().resources.pop_back(); },
       {"UnschedulablePodUpdatePodScaleDown"}},
      {"one gate of two", [](Pod& p) { p.spec.edit().gates.edit().pop_back(); }, {"UnschedulablePodUpdate"}},
      {"all gates",
       [](Pod& p) { p.spec.edit().gates.clear(); },
       {"UnschedulablePodUpdatePodSchedulingGatesEliminated"}},
      {"toleration added",
       [](Pod& p) { p.spec.edit().tolerations.emplace_back(); },
       {"UnschedulablePodUpdatePodToleration"}},
      {"toleration replaced",
       [](Pod& p) { p.spec.edit().tolerations.edit()[0].seconds = 4; },
       {"UnschedulablePodUpdate"}},
      {"claims",
       [](Pod& p) { p.claim_statuses.edit().extended = "{}"; },
       {"UnschedulablePodUpdatePodGeneratedResourceClaim"}},
      {"several, in order",
       [](Pod& p) { p.labels.clear(), p.spec.edit().gates.clear(); },
       {"UnschedulablePodUpdatePodLabel", "UnschedulablePodUpdatePodSchedulingGatesEliminated"}},
  };
  for (const Case& c : cases) {
    Pod changed = base;
    c.change(changed);
    EXPECT_EQ(names(pod_update_events(base, changed)), c.want) << c.name;
  }
}

}  // namespace
}  // namespace berth::model
