// SPDX-License-Identifier: Apache-2.0
#include "report/device_report.hpp"

#include <gtest/gtest.h>

#include "report/device_tables.hpp"
#include "report/report_json.hpp"
#include "text/parse.hpp"
#include "unit/app/reports.hpp"

namespace berth::app {
namespace {

using report::DevicePoolLine;

std::vector<model::ObjectPtr> objects(std::string_view yaml) {
  text::Diagnostics problems;
  std::vector<model::ObjectPtr> made;
  for (const text::Document& document : text::parse_yaml(yaml, "test", problems)) {
    auto object = std::make_shared<model::Object>();
    object->json = text::to_json(document.root());
    made.push_back(object);
  }
  EXPECT_TRUE(problems.empty()) << problems.render();
  return made;
}

report::DeviceReport devices(std::string_view slices, std::string_view claims = "") {
  return report::make_device_report(objects(slices), objects(claims),
                                    [](std::string_view node) { return node != "gone"; });
}

/// "free/allocated/tainted/blocked" of a pool.
std::string counts_of(const DevicePoolLine& pool) {
  const DevicePoolLine::Counts counts = pool.counts();
  EXPECT_EQ(counts.devices, pool.devices.size());
  return std::to_string(counts.free) + '/' + std::to_string(counts.allocated) + '/' + std::to_string(counts.tainted) +
         '/' + std::to_string(counts.blocked);
}

constexpr const char* k_gpus = R"(
metadata: {name: s1}
spec:
  driver: gpu.example.com
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  nodeName: node-1
  devices:
  - {name: gpu-0}
  - {name: gpu-1}
  - {name: gpu-2, taints: [{key: broken, effect: NoSchedule}]}
  - {name: gpu-3, taints: [{key: broken, effect: NoExecute}]}
  - {name: gpu-4, taints: [{key: slow, effect: None}]}
)";

constexpr const char* k_claims = R"(
metadata: {namespace: shop, name: c1}
status:
  reservedFor: [{resource: pods, name: web, uid: u1}]
  allocation: {devices: {results: [{request: r, driver: gpu.example.com, pool: node-1, device: gpu-0}]}}
---
metadata: {namespace: shop, name: c2}
status: {allocation: {devices: {results: [{request: r, driver: gpu.example.com, pool: node-1, device: gpu-3}]}}}
---
metadata: {namespace: shop, name: c3}
---
metadata: {namespace: shop, name: watcher}
status: {allocation: {devices: {results: [{request: r, driver: gpu.example.com, pool: node-1, device: gpu-1, adminAccess: true}]}}}
)";

TEST(DeviceReport, SaysOfEachDeviceWhetherAClaimMayGetIt) {
  const report::DeviceReport made = devices(k_gpus, k_claims);
  ASSERT_EQ(made.pools.size(), 1u);
  EXPECT_EQ(made.pools[0].node, "node-1");
  EXPECT_EQ(counts_of(made.pools[0]), "2/2/2/0");
  EXPECT_EQ(made.pools[0].counts().tainted_and_allocated, 1u);
  EXPECT_EQ(made.pools[0].devices[0].claims, std::vector<std::string>{"shop/c1"});
  EXPECT_TRUE(made.pools[0].devices[1].is_free()) << "admin access takes nothing away";
}

TEST(DeviceReport, SaysOfEachClaimWhatBecameOfIt) {
  const report::DeviceReport made = devices(k_gpus, k_claims);
  ASSERT_EQ(made.claims.size(), 4u);
  EXPECT_EQ(made.claims[0].state, report::ClaimLine::State::in_use);
  EXPECT_EQ(made.claims[0].reserved_for, std::vector<std::string>{"web"});
  EXPECT_EQ(made.claims[0].devices[0].text(), "gpu.example.com/node-1/gpu-0");
  EXPECT_EQ(made.claims[1].state, report::ClaimLine::State::idle);
  EXPECT_EQ(made.claims[2].state, report::ClaimLine::State::pending);
  EXPECT_TRUE(made.claims[3].devices[0].is_admin_access);
}

TEST(DeviceReport, CountsOnlyTheNewestGenerationOfAPool) {
  const report::DeviceReport made = devices(R"(
spec: {driver: d, pool: {name: p, generation: 2, resourceSliceCount: 1}, nodeName: n, devices: [{name: new}]}
---
spec: {driver: d, pool: {name: p, generation: 1, resourceSliceCount: 1}, nodeName: n, devices: [{name: old}, {name: older}]}
)");
  ASSERT_EQ(made.pools.size(), 1u);
  ASSERT_EQ(made.pools[0].devices.size(), 1u);
  EXPECT_EQ(made.pools[0].devices[0].name, "new");
}

TEST(DeviceReport, DevicesOfAnIncompletePoolAreNotFree) {
  const report::DeviceReport made = devices(
      "spec: {driver: d, pool: {name: p, generation: 1, resourceSliceCount: 2}, nodeName: n, devices: [{name: a}]}");
  EXPECT_EQ(made.pools[0].problem, "incomplete: 1 of 2 slices");
  EXPECT_EQ(counts_of(made.pools[0]), "0/0/0/1");
}

TEST(DeviceReport, DevicesOfAnInvalidPoolAreNotFree) {
  const report::DeviceReport made = devices(R"(
spec: {driver: d, pool: {name: p, generation: 1, resourceSliceCount: 1}, nodeName: n, devices: [{name: a}, {name: a}]}
---
spec: {driver: d, pool: {name: q, generation: 1, resourceSliceCount: 1}, nodeName: n,
       devices: [{name: a, consumesCounters: [{counterSet: s, counters: {memory: {value: 1Gi}}}]}]}
)");
  EXPECT_EQ(made.pools[0].problem, "invalid: device a is there twice");
  EXPECT_EQ(made.pools[1].problem, "invalid: counter s.memory is not there");
  EXPECT_EQ(counts_of(made.pools[1]), "0/0/0/1");
}

constexpr const char* k_partitions = R"(
spec: {driver: d, pool: {name: p, generation: 1, resourceSliceCount: 2}, nodeName: n,
       sharedCounters: [{name: s, counters: {memory: {value: 8Gi}}}]}
---
spec: {driver: d, pool: {name: p, generation: 1, resourceSliceCount: 2}, nodeName: n, devices: [
  {name: whole, consumesCounters: [{counterSet: s, counters: {memory: {value: 8Gi}}}]},
  {name: half-0, consumesCounters: [{counterSet: s, counters: {memory: {value: 4Gi}}}]},
  {name: half-1, consumesCounters: [{counterSet: s, counters: {memory: {value: 4Gi}}}]}]}
)";

TEST(DeviceReport, PartitionsWhoseCountersAreUsedUpAreBlocked) {
  EXPECT_EQ(counts_of(devices(k_partitions).pools[0]), "3/0/0/0");
  const auto taken = [](std::string device) {
    return "metadata: {namespace: shop, name: c}\n"
           "status: {allocation: {devices: {results: [{request: r, driver: d, pool: p, device: " +
           device + "}]}}}";
  };
  const report::DeviceReport half = devices(k_partitions, taken("half-0"));
  EXPECT_EQ(counts_of(half.pools[0]), "1/1/0/1");
  EXPECT_TRUE(half.pools[0].devices[0].is_blocked);
  EXPECT_EQ(counts_of(devices(k_partitions, taken("whole")).pools[0]), "0/1/0/2");
}

TEST(DeviceReport, SharesOfADeviceAreCounted) {
  const report::DeviceReport made = devices(
      "spec: {driver: d, pool: {name: p, generation: 1, resourceSliceCount: 1}, nodeName: n,"
      "       devices: [{name: nic, allowMultipleAllocations: true}, {name: other, allowMultipleAllocations: true}]}",
      R"(
metadata: {namespace: shop, name: c1}
status: {allocation: {devices: {results: [{request: r, driver: d, pool: p, device: nic, shareID: s1}]}}}
---
metadata: {namespace: shop, name: c2}
status: {allocation: {devices: {results: [{request: r, driver: d, pool: p, device: nic, shareID: s2}]}}}
)");
  EXPECT_EQ(counts_of(made.pools[0]), "1/1/0/0");
  EXPECT_EQ(made.pools[0].counts().shares, 2u);
  EXPECT_EQ(made.pools[0].counts().shared, 1u);
}

TEST(DeviceReport, NamesTheNodesThatHaveADevice) {
  const report::DeviceReport made = devices(R"(
spec: {driver: d, pool: {name: all, generation: 1, resourceSliceCount: 1}, allNodes: true, devices: [{name: a}]}
---
spec: {driver: d, pool: {name: rack, generation: 1, resourceSliceCount: 1}, devices: [{name: a}],
       nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: rack, operator: In, values: [r1, r2]}]}]}}
---
spec: {driver: d, pool: {name: each, generation: 1, resourceSliceCount: 1}, perDeviceNodeSelection: true,
       devices: [{name: a, nodeName: n1}, {name: b, allNodes: true}, {name: c, nodeName: n1}, {name: d, nodeName: gone}]}
)");
  std::vector<std::string> said;
  for (const DevicePoolLine& pool : made.pools)
    said.push_back(pool.pool + ' ' + (pool.node.empty() ? pool.nodes : pool.node) + (pool.is_node_known ? "" : " ?") +
                   ' ' + std::to_string(pool.devices.size()));
  EXPECT_EQ(said, (std::vector<std::string>{"each gone ? 1", "each n1 2", "all all nodes 1", "each all nodes 1",
                                            "rack rack In (r1,r2) 1"}));
}

TEST(DeviceReport, SurvivesObjectsOfAnyShape) {
  std::vector<model::ObjectPtr> odd;
  for (const char* json :
       {"", "[]", "{}", R"({"spec":[]})", R"({"spec":{"devices":{"a":1},"pool":7,"sharedCounters":[3]}})",
        R"({"spec":{"devices":[1,null,{"name":[],"taints":{},"consumesCounters":[{"counters":[]}]}]}})",
        R"({"status":{"allocation":{"devices":{"results":[null,{"device":{}}]}},"reservedFor":{}}})"}) {
    auto object = std::make_shared<model::Object>();
    object->json = json;
    odd.push_back(object);
  }
  const report::DeviceReport made = report::make_device_report(odd, odd, [](std::string_view) { return true; });
  EXPECT_EQ(made.claims.size(), 6u);
  report::TableStyle style;
  EXPECT_FALSE(report::devices_table(made, style).empty());
}

TEST(DevicesTable, ShowsPoolsAndSumsByDriver) {
  report::SimulationReport whole = report_of({}, {});
  whole.devices = devices(std::string(k_gpus) + "---" + k_partitions, k_claims);
  const std::string text = report::render_table(whole, {});
  for (const char* line :
       {"DEVICES (8)", "NODE    DRIVER           POOL    ALLOCATED            FREE          TAINTED",
        "node-1  gpu.example.com  node-1  ████░░░░░░  40% 2/5     2  2 (1 allocated)",
        "all     gpu.example.com  1 pool  ████░░░░░░  40% 2/5     2  2 (1 allocated)", "CLAIMS (4)",
        "shop       c3       pending  -     -", "shop       c1       in use   web   gpu.example.com/node-1/gpu-0",
        "gpu.example.com/node-1/gpu-1 (admin access)"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
}

TEST(DevicesTable, OfALargeClusterShowsTheFullestPoolsAndHowManyHaveRoom) {
  std::string slices, claims;
  for (int node = 0; node < 60; ++node) {
    const std::string name = "n" + std::to_string(node);
    slices += "---\nspec: {driver: d, pool: {name: " + name +
              ", generation: 1, resourceSliceCount: 1}, nodeName: " + name + ", devices: [{name: a}, {name: b}]}\n";
    if (node == 50)
      claims =
          "metadata: {namespace: shop, name: c}\nstatus: {allocation: {devices: {results: [{request: r, driver: d, "
          "pool: " +
          name + ", device: a}]}}}";
  }
  const report::DeviceReport made = devices(slices, claims);
  report::TableStyle style;
  style.node_rows = 3;
  const std::string text = report::devices_table(made, style);
  EXPECT_LT(text.find("n50"), text.find("n0 "));
  for (const char* line : {"DEVICES (120)", "all   d       60 pools", "57 more pools, less used; -o wide shows all",
                           "d          0  1  59    0    0     0"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  style.wide = true;
  EXPECT_EQ(report::devices_table(made, style).find("more pools"), std::string::npos);
}

TEST(DevicesTable, GivesNoControlCharacterOfANameToTheTerminal) {
  report::DeviceReport made;
  DevicePoolLine pool;
  pool.node = pool.driver = pool.pool = pool.problem = "x\x1b[2J\n\x07";
  pool.devices.emplace_back();
  pool.devices.back().claims = {"a\x1b"};
  made.pools = {pool, pool};
  made.pools[1].node.clear();
  made.pools[1].nodes = "in (\x1b)";
  report::ClaimLine claim;
  claim.ns = claim.name = "c\x1b";
  claim.devices = {{"r\x1b", "d\x1b", "p\n", "x\x07", false}};
  claim.reserved_for = {"p\x1b", "q\x1b"};
  made.claims = {claim};
  for (const bool wide : {false, true}) {
    report::TableStyle style;
    style.wide = wide;
    style.node_rows = 1;
    for (const char c : report::claims_table(made, style) + report::devices_table(made, style))
      EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << int{c};
  }
}

TEST(JsonReport, HoldsDevicesAndClaims) {
  report::PodLine web = placed("web", "node-1");
  web.claims = {"c1"};
  report::SimulationReport whole = report_of({web}, {});
  whole.devices = devices(std::string(k_gpus) + "---" + k_partitions, k_claims);
  text::Diagnostics problems;
  const auto documents = text::parse_json(report::render_json(whole), "json", problems);
  ASSERT_EQ(documents.size(), 1u) << problems.render();
  const text::Value& root = documents[0].root();
  EXPECT_EQ(text::to_json(*root.find("pods")->elements()[0].find("claims")), R"(["c1"])");
  EXPECT_EQ(text::to_json(root.find("claims")->elements()[0]),
            R"({"namespace":"shop","name":"c1","state":"in use","devices":[{"request":"r","driver":"gpu.example.com",)"
            R"("pool":"node-1","device":"gpu-0"}],"reservedFor":["web"]})");
  EXPECT_EQ(
      text::to_json(root.find("devicePools")->elements()[1]),
      R"({"node":"node-1","driver":"gpu.example.com","pool":"node-1","total":5,"free":2,"allocated":2,"tainted":2,)"
      R"("taintedAndAllocated":1,"blocked":0,"shares":0,"devices":[{"name":"gpu-0","state":"allocated","claims":["shop/c1"]},)"
      R"({"name":"gpu-1","state":"free"},{"name":"gpu-2","state":"tainted","tainted":true},)"
      R"({"name":"gpu-3","state":"allocated","tainted":true,"claims":["shop/c2"]},{"name":"gpu-4","state":"free"}]})");
  EXPECT_EQ(root.find("devices")->find("total")->integer(), 8);
}

}  // namespace
}  // namespace berth::app
