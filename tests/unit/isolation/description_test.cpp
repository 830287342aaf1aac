// SPDX-License-Identifier: Apache-2.0
#include "isolation/description.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace berth::isolation {
namespace {

constexpr berth_interest_v1 k_interests[] = {{BERTH_KIND_NODE, BERTH_ACTION_ADD, BERTH_INTEREST_DERIVED, 0}};
constexpr berth_requeue_ops_v1 k_requeue{sizeof(berth_requeue_ops_v1), 1, k_interests, nullptr};
constexpr berth_filter_ops_v1 k_filter{sizeof(berth_filter_ops_v1),
                                       0,
                                       [](void*, const berth_cycle_v1*, const berth_node_block_v1*,
                                          berth_filter_out_v1*, berth_note_v1*) -> berth_code { return BERTH_OK; },
                                       nullptr,
                                       BERTH_DEP_NODE_STATIC,
                                       0};
constexpr berth_point_v1 k_points[] = {{"berth.filter/1", &k_filter}, {"berth.requeue/1", &k_requeue}};
constexpr berth_reason_text_v1 k_reasons[] = {{"", ""}, {"node(s) are wrong", "Wrong"}};
constexpr const char* k_services[] = {"berth.log/1"};
constexpr berth_plugin_v1 k_plugin{sizeof(berth_plugin_v1),
                                   0,
                                   "example.com/A",
                                   "1.2.3",
                                   "Says no.",
                                   "{}",
                                   k_points,
                                   k_reasons,
                                   k_services,
                                   2,
                                   2,
                                   1,
                                   BERTH_DEP_POD_SPEC,
                                   nullptr,
                                   nullptr};
constexpr const berth_plugin_v1* k_plugins[] = {&k_plugin};
constexpr berth_library_v1 k_library{sizeof(berth_library_v1), 3, 2, 1, 0, k_plugins};

std::vector<std::byte> written() {
  std::vector<std::byte> bytes(1 << 16);
  bytes.resize(write_description(k_library, bytes));
  return bytes;
}

TEST(Description, CarriesWhatTheDescriptorSays) {
  const auto read = read_description(written());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->minor_built, 3);
  EXPECT_EQ(read->minor_required, 2);
  ASSERT_EQ(read->plugins.size(), 1u);
  const PluginDescription& plugin = read->plugins[0];
  EXPECT_EQ(plugin.name, "example.com/A");
  EXPECT_EQ(plugin.version, "1.2.3");
  EXPECT_EQ(plugin.summary, "Says no.");
  EXPECT_EQ(plugin.args_schema, "{}");
  EXPECT_EQ(plugin.deps, std::uint32_t{BERTH_DEP_POD_SPEC});
  EXPECT_EQ(plugin.points, (std::vector<std::string>{"berth.filter/1", "berth.requeue/1"}));
  EXPECT_EQ(plugin.services, (std::vector<std::string>{"berth.log/1"}));
  ASSERT_EQ(plugin.reasons.size(), 2u);
  EXPECT_EQ(plugin.reasons[1].first, "node(s) are wrong");
  ASSERT_TRUE(plugin.filter);
  EXPECT_TRUE(plugin.filter->has_filter);
  EXPECT_FALSE(plugin.filter->has_budget);
  EXPECT_EQ(plugin.filter->deps, std::uint32_t{BERTH_DEP_NODE_STATIC});
  ASSERT_TRUE(plugin.requeue);
  ASSERT_EQ(plugin.requeue->interests.size(), 1u);
  EXPECT_EQ(plugin.requeue->interests[0].resource, std::uint32_t{BERTH_KIND_NODE});
  EXPECT_FALSE(plugin.score);
}

TEST(Description, HasNoRoom) {
  std::vector<std::byte> room(10);
  EXPECT_EQ(write_description(k_library, room), 0u);
}

TEST(Description, MayBeAnything) {
  const std::vector<std::byte> good = written();
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes)
    EXPECT_FALSE(read_description({good.data(), bytes}).ok()) << bytes;
  std::minstd_rand random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bad = good;
    for (int change = 0; change < 3; ++change) bad[random() % bad.size()] = static_cast<std::byte>(random());
    static_cast<void>(read_description(bad));
  }
}

}  // namespace
}  // namespace berth::isolation
