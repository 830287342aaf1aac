// SPDX-License-Identifier: Apache-2.0
#include "support/abi_manifest.hpp"
#include "unit/framework/framework_fixture.hpp"

namespace berth::framework::testing {
namespace {

berth_code record_event(FakePlugin& plugin, std::uint32_t type = BERTH_EVENT_WARNING,
                        std::uint32_t bytes = sizeof(berth_event_spec_v1)) {
  const berth_host_v1& host = *plugin.host;
  const auto* const events = static_cast<const berth_events_v1*>(host.service(host.ctx, "berth.events/1"));
  berth_event_spec_v1 event{};
  event.struct_size = bytes;
  event.type = type;
  event.regarding_kind = key("Pod");
  event.regarding_ns = key("shop");
  event.regarding_name = key("web");
  event.reason = key("Odd");
  return events->record(host.ctx, &event);
}

TEST(PluginEvents, AreOfTheProfileThatUsesThePlugin) {
  FrameworkFixture f;
  FakePlugin& plugin = f.make_plugin("Talks");
  const auto instance = f.create(plugin, "second-scheduler");
  ASSERT_TRUE(instance.ok());
  ASSERT_EQ(record_event(plugin), static_cast<berth_code>(BERTH_OK));
  ASSERT_EQ(f.ports.events.size(), 1U);
  EXPECT_EQ(f.ports.events[0].profile, "second-scheduler");
  EXPECT_EQ(f.ports.events[0].reason, "Odd");
}

TEST(PluginEvents, AreRefusedInFilterAndNotOnAThreadThatHasBeenThere) {
  FrameworkFixture f;
  FakePlugin& plugin = f.make_plugin("Talks");
  const auto instance = f.create(plugin);
  ASSERT_TRUE(instance.ok());
  observe::enter_plugin((*instance)->crumb(), observe::Point::filter);
  const berth_code in_filter = record_event(plugin);
  observe::leave_plugin();
  EXPECT_EQ(in_filter, static_cast<berth_code>(BERTH_DENIED));
  EXPECT_EQ(record_event(plugin), static_cast<berth_code>(BERTH_OK));
}

/// What 1.0 has, every struct of a plugin of major 1 has; what a later minor appends must not be asked of it.
TEST(StructsOfPlugins, AreAsLongAsTheManifestOfTheFirstVersionHasThem) {
  const auto bytes = struct_bytes_of_first_version();
  ASSERT_GT(bytes.size(), 50u);
  EXPECT_EQ(k_first_bytes<berth_domain_column_v1>, bytes.at("berth_domain_column_v1"));
  EXPECT_EQ(k_first_bytes<berth_event_spec_v1>, bytes.at("berth_event_spec_v1"));
  EXPECT_EQ(k_first_bytes<berth_metric_spec_v1>, bytes.at("berth_metric_spec_v1"));
  EXPECT_EQ(k_first_bytes<berth_object_ref_v1>, bytes.at("berth_object_ref_v1"));
  EXPECT_EQ(k_first_bytes<berth_preemption_policy_v1>, bytes.at("berth_preemption_policy_v1"));
  EXPECT_EQ(k_first_bytes<berth_preemption_request_v1>, bytes.at("berth_preemption_request_v1"));
}

TEST(PluginEvents, AreRefusedWhenTheirSpecIsTooShort) {
  FrameworkFixture f;
  FakePlugin& plugin = f.make_plugin("Talks");
  const auto instance = f.create(plugin);
  ASSERT_TRUE(instance.ok());
  EXPECT_EQ(record_event(plugin, BERTH_EVENT_NORMAL, offsetof(berth_event_spec_v1, note)),
            static_cast<berth_code>(BERTH_BAD_ARGS));
  EXPECT_TRUE(f.ports.events.empty());
}

TEST(PluginEvents, AreRefusedWhenTheirTypeIsNotKnown) {
  FrameworkFixture f;
  FakePlugin& plugin = f.make_plugin("Talks");
  const auto instance = f.create(plugin);
  ASSERT_TRUE(instance.ok());
  EXPECT_EQ(record_event(plugin, 2), static_cast<berth_code>(BERTH_BAD_ARGS));
  EXPECT_TRUE(f.ports.events.empty());
}

}  // namespace
}  // namespace berth::framework::testing
