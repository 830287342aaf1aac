// SPDX-License-Identifier: Apache-2.0
// From where a plugin of a file may call which function of the host.
#include <thread>

#include "framework/points/filter.hpp"
#include "framework/points/pre_filter.hpp"
#include "unit/framework/framework_fixture.hpp"

namespace berth::framework::testing {
namespace {

/// A plugin of a file that calls the host wherever `calls` says.
struct Caller : FrameworkFixture {
  Caller() {
    add_node("n1");
    cache.refresh(snapshot);
    plugin.create = [this](const berth_binder_v1&, berth_note_v1*) -> berth_code {
      at_create();
      return BERTH_OK;
    };
    auto made = create_from(plugin, "/plugins/caller.so", {});
    EXPECT_TRUE(made.ok());
    instance = std::move(made).value();
  }
  /// As a call of that point.
  template <typename F>
  auto in(observe::Point point, F&& f) {
    observe::enter_plugin(instance->crumb(), point);
    auto answer = f();
    observe::leave_plugin();
    return answer;
  }
  berth_id intern() { return plugin.service<berth_intern_v1>("berth.intern/1").intern(plugin.host->ctx, key("word")); }
  berth_code every() {
    std::uint64_t handle = 0;
    return plugin.service<berth_executor_v1>("berth.executor/1")
        .start(
            plugin.host->ctx, 10, 10, [](void*) {}, nullptr, &handle);
  }
  berth_code activate() {
    return plugin.service<berth_queue_control_v1>("berth.queue_control/1").activate(plugin.host->ctx, key("uid"));
  }
  berth_code evict() {
    return plugin.service<berth_writes_v1>("berth.writes/1")
        .evict(plugin.host->ctx, key("ns"), key("p"), key("uid"), key("because"), nullptr, nullptr);
  }
  berth_code event() {
    berth_event_spec_v1 spec{};
    spec.struct_size = sizeof spec;
    spec.regarding_kind = key("Pod");
    spec.regarding_name = key("p");
    spec.reason = key("Because");
    return plugin.service<berth_events_v1>("berth.events/1").record(plugin.host->ctx, &spec);
  }
  berth_reason reason() {
    const berth_str text = key("too small");
    return plugin.service<berth_reasons_v1>("berth.reasons/1").make(plugin.host->ctx, &text, 1);
  }

  FakePlugin& plugin = make_plugin("example.com/Caller");
  std::function<void()> at_create = [this] { interned_at_create = intern(); };
  berth_id interned_at_create = 0;
  std::unique_ptr<PluginInstance> instance;
};

TEST(ThreadTags, IdsAreMadeAtStartInCyclesOnWorkersAndInTheQueueOnly) {
  Caller f;
  EXPECT_NE(f.interned_at_create, 0u);
  EXPECT_NE(f.in(observe::Point::pre_filter, [&] { return f.intern(); }), 0u);
  EXPECT_NE(f.in(observe::Point::hint, [&] { return f.intern(); }), 0u);
  // A profile may list filter without preFilter: what that would have prepared is made in filter then.
  EXPECT_NE(f.in(observe::Point::filter, [&] { return f.intern(); }), 0u);
  EXPECT_EQ(f.in(observe::Point::pre_bind, [&] { return f.intern(); }), 0u);
}

TEST(ThreadTags, ADenialIsKeptOnceForChecksAndOnlyForThem) {
  Caller f;
  f.in(observe::Point::pre_bind, [&] { return f.intern(); });
  EXPECT_EQ(f.host.misuse.sentences(Misuse::denied_call), std::vector<std::string>{});
  f.host.traps_unasked_fields = true;
  for (int i = 0; i < 3; ++i) f.in(observe::Point::pre_bind, [&] { return f.intern(); });
  const std::vector<std::string> said = f.host.misuse.sentences(Misuse::denied_call);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said.front().find("example.com/Caller: "), std::string::npos) << said.front();
  EXPECT_NE(said.front().find("was denied in"), std::string::npos) << said.front();
  EXPECT_EQ(f.host.misuse.sentences(Misuse::second_answer), std::vector<std::string>{});
  for (std::size_t i = 0; i < 2 * MisuseRecord::k_sentences_max; ++i)
    f.host.misuse.add(Misuse::denied_call, fmt::format("misuse {}", i));
  EXPECT_EQ(f.host.misuse.sentences(Misuse::denied_call).size(), MisuseRecord::k_sentences_max);
}

/// What a host of an older minor would answer.
TEST(Binder, WithholdsTheColumnAndTheFieldsThatACheckNames) {
  FrameworkFixture f;
  FakePlugin& plugin = f.make_plugin("example.com/Caller");
  std::vector<std::uint32_t> columns;
  std::uint64_t fields = 0;
  plugin.create = [&](const berth_binder_v1& binder, berth_note_v1*) -> berth_code {
    columns.clear();
    for (const std::uint32_t kind : {BERTH_COL_PODS, BERTH_COL_NAME, BERTH_COL_UNSCHEDULABLE})
      columns.push_back(binder.column(binder.ctx, kind, {nullptr, 0}));
    fields = binder.pod_fields(binder.ctx, BERTH_POD_IDENTITY);
    return BERTH_OK;
  };
  ASSERT_TRUE(f.create_from(plugin, "/plugins/caller.so", {}).ok());
  EXPECT_EQ(columns, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(fields, BERTH_POD_IDENTITY);
  f.host.withheld = {.plugin = "example.com/Caller", .column = 1, .pod_fields = true};
  ASSERT_TRUE(f.create_from(plugin, "/plugins/caller.so", {}).ok());
  EXPECT_EQ(columns, (std::vector<std::uint32_t>{0, BERTH_NO_COLUMN, 1}));
  EXPECT_EQ(fields, 0u);
  f.host.withheld.plugin = "example.com/Other";
  ASSERT_TRUE(f.create_from(plugin, "/plugins/caller.so", {}).ok());
  EXPECT_EQ(columns, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(fields, BERTH_POD_IDENTITY);
}

TEST(ThreadTags, CallsFromAThreadThatThePluginMadeAreDenied) {
  Caller f;
  berth_id id = 1;
  berth_code activated = BERTH_OK, evicted = BERTH_OK;
  std::thread([&] {
    id = f.intern();
    activated = f.activate();
    evicted = f.evict();
  }).join();
  EXPECT_EQ(id, 0u);
  EXPECT_EQ(activated, berth_code{BERTH_DENIED});
  EXPECT_EQ(evicted, berth_code{BERTH_DENIED});
}

TEST(ThreadTags, ACallThatIsNotAllowedIsDenied) {
  Caller f;
  EXPECT_EQ(f.in(observe::Point::pre_filter, [&] { return f.every(); }), berth_code{BERTH_DENIED});
  EXPECT_EQ(f.in(observe::Point::score, [&] { return f.activate(); }), berth_code{BERTH_DENIED});
  EXPECT_EQ(f.in(observe::Point::reserve, [&] { return f.activate(); }), berth_code{BERTH_OK});
  EXPECT_EQ(f.in(observe::Point::filter, [&] { return f.evict(); }), berth_code{BERTH_DENIED});
  EXPECT_EQ(f.in(observe::Point::create, [&] { return f.event(); }), berth_code{BERTH_DENIED});
  EXPECT_EQ(f.in(observe::Point::permit, [&] { return f.event(); }), berth_code{BERTH_OK});
  EXPECT_EQ(f.in(observe::Point::pre_bind, [&] { return f.reason(); }), 0u);
  EXPECT_NE(f.in(observe::Point::filter, [&] { return f.reason(); }), 0u);
}

TEST(ThreadTags, APluginThatIsLinkedInIsTrusted) {
  FrameworkFixture f;
  FakePlugin& plugin = f.make_plugin("LinkedIn");
  f.add(plugin);
  EXPECT_NE(plugin.service<berth_intern_v1>("berth.intern/1").intern(plugin.host->ctx, key("word")), 0u);
}

}  // namespace
}  // namespace berth::framework::testing
