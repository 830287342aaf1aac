// SPDX-License-Identifier: Apache-2.0
// "berth.intern/1": how long ids live.
#include "framework/services/instance_ids.hpp"

#include <optional>

#include "framework/plugin_call.hpp"
#include "unit/framework/framework_fixture.hpp"

namespace berth::framework::testing {
namespace {

struct InternFixture : FrameworkFixture {
  InternFixture() {
    plugin.create = [](const berth_binder_v1&, berth_note_v1*) -> berth_code { return BERTH_OK; };
    auto made = PluginInstance::create({&plugin.describe(), "", "", {}, {}}, "", host, 0);
    EXPECT_TRUE(made.ok());
    instance = std::move(made).value();
    call.emplace(*instance, observe::Point::pre_filter);
  }
  berth_id intern(const std::string& text) { return table().intern(plugin.host->ctx, {text.data(), text.size()}); }
  berth_id intern_for_cycle(const std::string& text) {
    return table().intern_for_cycle(plugin.host->ctx, {text.data(), text.size()});
  }
  const berth_intern_v1& table() const { return plugin.service<berth_intern_v1>("berth.intern/1"); }
  std::string text(berth_id id) const {
    berth_str out{};
    table().text(plugin.host->ctx, id, &out);
    return std::string(from_abi(out));
  }
  /// So many texts of 1 KiB that none of before is recent any more.
  void intern_others() {
    for (int i = 0; i < 6000; ++i) symbols.intern_recent(std::to_string(i) + std::string(1024, '.'));
  }

  struct InCall {
    InCall(const PluginInstance& plugin, observe::Point point) { observe::enter_plugin(plugin.crumb(), point); }
    observe::BreadcrumbNesting nesting;
  };
  FakePlugin& plugin = make_plugin("example.com/Interns");
  std::unique_ptr<PluginInstance> instance;
  std::optional<InCall> call;
};

TEST(InstanceIds, MadeInACycleLiveAsLongAsTheInstance) {
  InternFixture f;
  const berth_id kept = f.intern("kept");
  EXPECT_EQ(f.intern("kept"), kept);
  const berth_id passing = f.intern_for_cycle("passing");
  EXPECT_EQ(f.text(passing), "passing");
  f.intern_others();
  EXPECT_EQ(f.text(kept), "kept");
  EXPECT_EQ(f.intern("kept"), kept);
  EXPECT_EQ(f.symbols.find("passing"), k_no_symbol) << "the test interns too little for the other to go";
  f.call.reset();
  f.instance.reset();
  f.intern_others();
  EXPECT_EQ(f.symbols.find("kept"), k_no_symbol);
}

TEST(InstanceIds, HaveABound) {
  InternFixture f;
  for (std::size_t i = 0; i < InstanceIds::k_most; ++i) ASSERT_NE(f.intern(std::to_string(i)), k_no_symbol);
  EXPECT_EQ(f.intern("one too many"), k_no_symbol);
  EXPECT_NE(f.intern("0"), k_no_symbol) << "it has that one";
  EXPECT_NE(f.intern_for_cycle("one too many"), k_no_symbol);
  f.intern_others();
  EXPECT_EQ(f.symbols.find("one too many"), k_no_symbol);
  EXPECT_NE(f.symbols.find("0"), k_no_symbol);
}

}  // namespace
}  // namespace berth::framework::testing
