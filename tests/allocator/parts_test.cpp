// SPDX-License-Identifier: Apache-2.0
/// What the allocator stands on: amounts, the devices in use, node selectors, slices and pools.
#include <gtest/gtest.h>

#include <stdexcept>

#include "scene.hpp"

namespace berth::dra {
namespace {

std::string canonical(std::string_view text) {
  const AmountRead read = read_amount(text);
  return read.error.empty() ? canonical_text(read.amount) : std::string(read.error);
}

TEST(Amount, IsWrittenAsTheApiServerWritesIt) {
  const std::pair<const char*, const char*> expected[] = {
      {"0", "0"},         {"0Gi", "0"},          {"1024Mi", "1Gi"},  {"1000Mi", "1000Mi"}, {"1536", "1536"},
      {"512Ki", "512Ki"}, {"1Ki", "1Ki"},        {"0.5Ki", "512"},   {"1.5Gi", "1536Mi"},  {"1000", "1k"},
      {"1500m", "1500m"}, {"0.1", "100m"},       {"1e3", "1e3"},     {"1E3", "1e3"},       {"1E", "1E"},
      {"100e-1", "10"},   {"12345k", "12345k"},  {"1000000k", "1G"}, {"-1500m", "-1500m"}, {"1n", "1n"},
      {"1000E", "1e21"},  {"0.0000000001", "1n"}};
  for (const auto& [text, written] : expected) EXPECT_EQ(canonical(text), written) << text;
}

TEST(Amount, IsRefusedWhereItHasNoMeaning) {
  EXPECT_EQ(canonical("1e27"), "quantity is 10^27 or more");
  EXPECT_EQ(canonical("99999999999999999999999999"), "99999999999999999999999999");
  EXPECT_NE(read_amount("lots").error, "");
  EXPECT_NE(read_amount("").error, "");
}

TEST(Amount, RoundsAwayFromZero) {
  EXPECT_EQ(whole_value(read_amount("1500m").amount.nano), 2);
  EXPECT_EQ(whole_value(read_amount("-1500m").amount.nano), -2);
  EXPECT_EQ(whole_value(read_amount("9e26").amount.nano), INT64_MAX);
}

TEST(Amount, StaysAtTheLargestNumber) {
  const Nano large = read_amount("9e26").amount.nano;
  Nano sum = 0;
  for (int i = 0; i < 1000; ++i) sum = saturating_sum(sum, large);
  EXPECT_GT(sum, large);
  for (int i = 0; i < 1000; ++i) sum = saturating_sum(sum, -large);
  EXPECT_LT(sum, 0);
}

TakenDevice share_of(std::string_view device, std::string_view share, const std::string& amount) {
  return {"a", "p", device, false, share, std::vector<NamedAmount>{{"c", amount}}};
}

TEST(AllocatedState, ForgetsADeviceWhenEitherHolderGoes) {
  AllocatedState state(std::make_shared<DeviceIds>());
  const TakenDevice device{"a", "p", "d"};
  EXPECT_EQ(state.add(device), "");
  EXPECT_EQ(state.add(device), "");
  const std::uint32_t id = state.ids()->intern("a", "p", "d");
  EXPECT_TRUE(state.is_in_use(id));
  state.remove(device);
  EXPECT_FALSE(state.is_in_use(id));
  EXPECT_FALSE(state.is_allocated(id));
}

TEST(AllocatedState, SumsUpWhatSharesConsume) {
  AllocatedState state(std::make_shared<DeviceIds>());
  state.add(share_of("d", "s1", "1"));
  state.add(share_of("d", "s2", "500m"));
  const std::uint32_t id = state.ids()->intern("a", "p", "d");
  EXPECT_FALSE(state.is_in_use(id));
  EXPECT_TRUE(state.is_allocated(id));
  ASSERT_NE(state.consumed(id), nullptr);
  EXPECT_EQ(state.consumed(id)->at(0).nano, 1'500'000'000);
  state.remove(share_of("d", "s1", "1"));
  EXPECT_EQ(state.consumed(id)->at(0).nano, 500'000'000);
  state.remove(share_of("d", "s2", "500m"));
  EXPECT_EQ(state.consumed(id), nullptr);
  EXPECT_FALSE(state.is_allocated(id));
}

TEST(AllocatedState, IsASnapshotWhenCopied) {
  AllocatedState state(std::make_shared<DeviceIds>());
  state.add({"a", "p", "d"});
  const AllocatedState snapshot = state;
  state.remove({"a", "p", "d"});
  EXPECT_TRUE(snapshot.is_in_use(0));
}

TEST(AllocatedState, IgnoresAdminAccess) {
  AllocatedState state(std::make_shared<DeviceIds>());
  EXPECT_EQ(state.add({"a", "p", "d", true}), "");
  EXPECT_EQ(state.ids()->size(), 0u);
}

TEST(AllocatedState, SaysWhatItCannotCount) {
  AllocatedState state(std::make_shared<DeviceIds>(1));
  EXPECT_EQ(state.add(share_of("d", "s", "lots")).substr(0, 25), "device a/p/d: capacity c:");
  EXPECT_EQ(state.add({"a", "p", "e"}),
            "device a/p/e: the table of device names is full (1 devices); prepare slices and "
            "allocations again with a new one");
}

TEST(DeviceIds, TellsNamesApartThatReadTheSame) {
  DeviceIds ids;
  EXPECT_EQ(ids.intern("a", "pq", "d"), 0u);
  EXPECT_EQ(ids.intern("a", "p", "qd"), 1u);
  EXPECT_EQ(ids.intern("ap", "q", "d"), 2u);
  EXPECT_EQ(ids.intern("a", "pq", "d"), 0u);
}

bool matches(std::vector<NodeRequirement> expressions, std::vector<NodeRequirement> fields = {}) {
  NodeChoice choice;
  choice.selector = NodeSelector{{{std::move(expressions), std::move(fields)}}};
  const NodeMatcher matcher(choice);
  if (!matcher.error().empty()) throw std::runtime_error(matcher.error());
  const Node node{"n1", {{"zone", "z1"}, {"cores", "8"}, {"kind", "eight"}}};
  return matcher.matches(NodeLabels(node));
}

TEST(NodeMatcher, KnowsAllOperators) {
  EXPECT_TRUE(matches({{"zone", "In", {"z0", "z1"}}}));
  EXPECT_FALSE(matches({{"zone", "NotIn", {"z0", "z1"}}}));
  EXPECT_TRUE(matches({{"rack", "NotIn", {"r"}}}));
  EXPECT_TRUE(matches({{"zone", "Exists", {}}, {"rack", "DoesNotExist", {}}}));
  EXPECT_TRUE(matches({{"cores", "Gt", {"7"}}, {"cores", "Lt", {"9"}}}));
  EXPECT_FALSE(matches({{"cores", "Gt", {"8"}}}));
  EXPECT_FALSE(matches({{"kind", "Gt", {"1"}}}));
  EXPECT_TRUE(matches({}, {{"metadata.name", "In", {"n1"}}}));
  EXPECT_FALSE(matches({}, {{"metadata.name", "NotIn", {"n1"}}}));
  EXPECT_FALSE(matches({}, {})) << "a term without requirements";
}

TEST(NodeMatcher, RefusesWhatTheApiDoesNotAllow) {
  EXPECT_THROW(matches({{"zone", "In", {}}}), std::runtime_error);
  EXPECT_THROW(matches({{"zone", "Exists", {"z"}}}), std::runtime_error);
  EXPECT_THROW(matches({{"zone", "Gt", {"many"}}}), std::runtime_error);
  EXPECT_THROW(matches({{"zone", "In", {"-z"}}}), std::runtime_error);
  EXPECT_THROW(matches({{"Zone_/x", "Exists", {}}}), std::runtime_error);
  EXPECT_THROW(matches({}, {{"metadata.name", "Exists", {}}}), std::runtime_error);
  EXPECT_THROW(matches({}, {{"metadata.name", "In", {"n1", "n2"}}}), std::runtime_error);
}

TEST(PreparedSlice, SaysWhichFieldCannotBeRead) {
  DeviceIds ids;
  Slice slice = slice_on("n1", "a", "p", {device_named("d")});
  slice.devices[0].capacity.push_back({"memory", "lots", std::nullopt});
  EXPECT_EQ(PreparedSlice::prepare(slice, ids).error.rfind("ResourceSlice p-a: device d: capacity memory: ", 0), 0u);
  slice.devices[0].capacity.clear();
  slice.devices.resize(PreparedSlice::k_devices_max + 1, device_named("d"));
  EXPECT_EQ(PreparedSlice::prepare(slice, ids).error, "ResourceSlice p-a: has 4097 devices, at most 4096");
  DeviceIds none(0);
  EXPECT_EQ(PreparedSlice::prepare(slice_on("n1", "a", "p", {device_named("d")}), none).slice, nullptr);
}

TEST(Inventory, SharesAPoolThatSeveralNodesSeeWhole) {
  Scene scene;
  Slice slice = slice_on("", "a", "p", {device_named("d")});
  slice.nodes.all_nodes = true;
  scene.add(slice);
  const Inventory inventory(scene.slices);
  EXPECT_EQ(inventory.gather({"n1", {}})->pools[0], inventory.gather({"n2", {}})->pools[0]);
}

TEST(Inventory, SeesANewerGenerationElsewhereOnlyWhereSlicesAreMissing) {
  Scene scene;
  scene.add(slice_on("n1", "a", "p", {device_named("d")}));
  Slice newer = slice_on("n2", "a", "p", {device_named("d")});
  newer.generation = 2;
  scene.add(newer);
  EXPECT_EQ(Inventory(scene.slices).gather({"n1", {}})->pools.size(), 1u);
  Slice partial = slice_on("n1", "a", "q", {device_named("d")});
  partial.slice_count = 2;
  scene.add(partial);
  EXPECT_EQ(Inventory(scene.slices).gather({"n1", {}})->pools[1]->condition, Pool::Condition::incomplete);
  newer.pool = "q";
  scene.add(newer);
  EXPECT_EQ(Inventory(scene.slices).gather({"n1", {}})->pools.size(), 1u);
}

}  // namespace
}  // namespace berth::dra
