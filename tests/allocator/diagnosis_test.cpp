// SPDX-License-Identifier: Apache-2.0
/// Why a node has no devices for a claim, device by device.
#include <gtest/gtest.h>

#include <stdexcept>

#include "scene.hpp"

namespace berth::dra {
namespace {

using Said = std::vector<std::string>;

Device with_number(std::string name, std::int64_t index) {
  Device made = device_named(std::move(name));
  made.attributes.push_back({"index", cel::Attribute::Type::integer, index, {}});
  return made;
}

TEST(Diagnosis, IsEmptyWhereThereIsASolution) {
  Scene scene;
  scene.add(slice_on("n1", "a", "p", {device_named("d1")}));
  EXPECT_EQ(scene.diagnose({claim_of({request_of("r", "a")})}), Said());
}

TEST(Diagnosis, CountsDevicesInUseAndThoseThatAreTooFew) {
  Scene scene;
  scene.add(slice_on("n1", "a", "p", {device_named("d1"), device_named("d2"), device_named("d3")}));
  scene.state.add({"a", "p", "d1"});
  scene.state.add({"a", "p", "d3"});
  EXPECT_EQ(scene.diagnose({claim_of({request_of("r", "a", 2)})}),
            (Said{"claim ns/c, request r: in use: 2", "claim ns/c, request r: suitable, and not enough: 1"}));
}

TEST(Diagnosis, NamesTheSelectorThatRefuses) {
  Scene scene;
  scene.add(slice_on("n1", "a", "p", {with_number("d1", 1), with_number("d2", 2)}));
  scene.add(slice_on("n1", "b", "q", {device_named("e1")}));
  Request request = request_of("r", "a");
  request.exactly->selectors = {"device.attributes['a'].index > 0", "device.attributes['a'].index == 7"};
  EXPECT_EQ(
      scene.diagnose({claim_of({request})}),
      (Said{"claim ns/c, request r: refused by selector #0 of class a: device.driver == \"a\": 1",
            "claim ns/c, request r: refused by selector #1 of the request: device.attributes['a'].index == 7: 2"}));
}

TEST(Diagnosis, CutsLongSelectorsAndNotTheirCharacters) {
  Scene scene;
  scene.add(slice_on("n1", "a", "p", {device_named("d1")}));
  Request request = request_of("r", "a");
  std::string text;
  for (int i = 0; i < 200; ++i) text += "é";
  request.exactly->selectors = {"device.driver == '" + text + "'"};
  const Said said = scene.diagnose({claim_of({request})});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_LT(said[0].size(), 260u);
  EXPECT_NE(said[0].find("é…: 1"), std::string::npos) << said[0];
}

TEST(Diagnosis, NamesTheTaintThatIsNotTolerated) {
  Scene scene;
  Device tainted = device_named("d1"), tolerated = device_named("d2");
  tainted.taints = {{"hot", "", "NoExecute"}};
  tolerated.taints = {{"slow", "yes", "NoSchedule"}};
  scene.add(slice_on("n1", "a", "p", {tainted, tolerated}));
  Request request = request_of("r", "a", 2);
  request.exactly->tolerations = {{"slow", "Exists", "", "", {}}};
  EXPECT_EQ(scene.diagnose({claim_of({request})}), (Said{"claim ns/c, request r: suitable, and not enough: 1",
                                                         "claim ns/c, request r: tainted hot:NoExecute: 1"}));
}

TEST(Diagnosis, NamesTheConstraint) {
  Scene scene;
  scene.add(slice_on("n1", "a", "p", {with_number("d1", 1), with_number("d2", 2)}));
  Claim claim = claim_of({request_of("r", "a"), request_of("s", "a")});
  claim.constraints = {{{}, "a/index", {}}};
  const Said said = scene.diagnose({claim});
  EXPECT_NE(
      std::find(said.begin(), said.end(), "claim ns/c, request s: refused by constraint #0: matchAttribute a/index: 2"),
      said.end())
      << testing::PrintToString(said);
}

TEST(Diagnosis, SaysWhenSharedCountersAreUsedUp) {
  Scene scene;
  Slice counters = slice_on("n1", "a", "p", {});
  counters.name = "counters";
  counters.slice_count = 2;
  counters.shared_counters = {{"s", {{"memory", "8Gi"}}}};
  Device whole = device_named("whole"), half = device_named("half");
  whole.consumes_counters = {{"s", {{"memory", "8Gi"}}}};
  half.consumes_counters = {{"s", {{"memory", "4Gi"}}}};
  Slice devices = slice_on("n1", "a", "p", {whole, half});
  devices.slice_count = 2;
  scene.add(counters);
  scene.add(devices);
  scene.state.add({"a", "p", "half"});
  EXPECT_EQ(scene.diagnose({claim_of({request_of("r", "a")})}),
            (Said{"claim ns/c, request r: in use: 1", "claim ns/c, request r: shared counters are used up: 1"}));
}

TEST(Diagnosis, NamesPoolsThatCannotBeUsed) {
  Scene scene;
  scene.add(slice_on("n1", "a", "bad", {device_named("d1"), device_named("d1")}));
  Slice incomplete = slice_on("n1", "a", "half", {device_named("d1")});
  incomplete.slice_count = 2;
  scene.add(incomplete);
  EXPECT_EQ(scene.diagnose({claim_of({request_of("r", "a")})}),
            (Said{"resource pool a/bad is invalid: 0", "resource pool a/half is being updated: 0",
                  "claim ns/c, request r: the node has no devices: 0"}));
}

TEST(Diagnosis, SaysOfClaimsThatAreWrongWhatIsWrong) {
  Scene scene;
  scene.add(slice_on("n1", "a", "p", {device_named("d1")}));
  Request request = request_of("r", "a");
  request.exactly->selectors = {"this does not compile"};
  const Said said = scene.diagnose({claim_of({request})});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("CEL compile error"), std::string::npos) << said[0];
}

}  // namespace
}  // namespace berth::dra
