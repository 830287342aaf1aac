// SPDX-License-Identifier: Apache-2.0
#include "framework/plugin_call.hpp"

#include <stdexcept>

#include "framework/points/group.hpp"
#include "unit/framework/framework_fixture.hpp"

namespace berth::framework::testing {
namespace {

struct Cleaned {
  std::string_view from, to;
};

class CleanText : public ::testing::TestWithParam<Cleaned> {};

TEST_P(CleanText, IsValidAndPrintable) { EXPECT_EQ(clean_text(GetParam().from), GetParam().to); }

using namespace std::string_view_literals;
INSTANTIATE_TEST_SUITE_P(Kept, CleanText,
                         ::testing::Values(Cleaned{"", ""}, Cleaned{"plain text", "plain text"},
                                           Cleaned{"grün … 🚢", "grün … 🚢"}, Cleaned{"\xED\x9F\xBF", "\xED\x9F\xBF"},
                                           Cleaned{"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"}));
INSTANTIATE_TEST_SUITE_P(Escaped, CleanText,
                         ::testing::Values(Cleaned{"a\nb\tc", "a\\x0ab\\x09c"}, Cleaned{"\x1b[31m", "\\x1b[31m"},
                                           Cleaned{"\x7f", "\\x7f"}, Cleaned{"a\0b"sv, "a\\x00b"}));
INSTANTIATE_TEST_SUITE_P(
    Replaced, CleanText,
    ::testing::Values(Cleaned{"\xFFx", "\uFFFDx"}, Cleaned{"\x80", "\uFFFD"}, Cleaned{"ab\xE2\x82", "ab\uFFFD\uFFFD"},
                      Cleaned{"\xC0\xAF", "\uFFFD\uFFFD"},                        // longer than need be
                      Cleaned{"\xE0\x80\xAF", "\uFFFD\uFFFD\uFFFD"},              // the same in three bytes
                      Cleaned{"\xF0\x80\x80\xAF", "\uFFFD\uFFFD\uFFFD\uFFFD"},    // and in four
                      Cleaned{"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},              // a surrogate
                      Cleaned{"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"}));  // past the last code point

TEST(Note, SaysWhenItWasCut) {
  Note note;
  note.write(std::string(1024, 'x'));
  EXPECT_EQ(note.text(), std::string(1024, 'x'));
  note.write(std::string(1025, 'x'));
  EXPECT_EQ(note.text(), std::string(1024, 'x') + "…");
  note.abi()->text_len = ~std::uint64_t{0};  // a plugin may claim anything
  EXPECT_EQ(note.text().size(), 1024 + std::string_view("…").size());
  note.reset();
  EXPECT_EQ(note.text(), "");
}

struct CallFixture : FrameworkFixture {
  CallFixture() {
    FakePlugin& plugin = make_plugin("example.com/P");
    plugin.reasons = {"first reason", "second reason"};
    instance = &add(plugin);
  }
  template <typename F>
  Code call(F&& f) {
    return call_plugin(*instance, observe::Point::filter, note, std::forward<F>(f));
  }
  const PluginInstance* instance = nullptr;
  Note note;
};

TEST(PluginCall, TurnsExceptionsIntoErrors) {
  CallFixture f;
  EXPECT_EQ(f.call([]() -> berth_code { throw std::runtime_error("out of\nluck"); }), Code::error);
  EXPECT_EQ(f.note.text(), "out of\\x0aluck");
  EXPECT_EQ(f.call([]() -> berth_code { throw 1; }), Code::error);
  EXPECT_EQ(f.note.text(), "unknown exception");
  EXPECT_EQ(f.call([]() -> berth_code { return BERTH_PENDING; }), Code::pending);
}

TEST(PluginCall, IsCountedByPluginAndPoint) {
  CallFixture f;
  FakePlugin& judge = f.make_plugin("example.com/Judge");
  judge.filter = [](const berth_cycle_v1&, const berth_node_block_v1&, berth_filter_out_v1&,
                    berth_note_v1*) -> berth_code { return BERTH_OK; };
  const PluginInstance& instance = f.add(judge);
  Note note;
  for (int i = 0; i < 3; ++i)
    call_plugin(instance, observe::Point::filter, note, []() -> berth_code { return BERTH_OK; });
  std::uint64_t calls = 0;
  for (const observe::CallTotal& total : f.counters.totals())
    if (total.plugin == "example.com/Judge" && total.point == "filter") calls += total.calls;
  EXPECT_EQ(calls, 3u);
}

TEST(PluginCall, NamesACodeThatIsNotValid) {
  CallFixture f;
  EXPECT_EQ(invalid_code(*f.instance, observe::Point::filter, Code::wait),
            "plugin example.com/P returned Wait (4) from filter, which is not valid there");
  EXPECT_EQ(invalid_code(*f.instance, observe::Point::score, static_cast<Code>(99)),
            "plugin example.com/P returned Unknown (99) from score, which is not valid there");
}

TEST(Sentences, ComeFromThePluginsTableOrFromComposedLists) {
  CallFixture f;
  using Texts = std::vector<std::string>;
  EXPECT_EQ(sentences(*f.instance, berth_reason{2}), Texts{"second reason"});
  EXPECT_EQ(sentences(*f.instance, berth_reason{0}), Texts{});
  EXPECT_EQ(sentences(*f.instance, berth_reason{77}),
            Texts{"plugin example.com/P gave reason 77, which it does not list"});
  EXPECT_EQ(sentences(*f.instance, f.reasons.make({"a", "b"})), (Texts{"a", "b"}));
  EXPECT_EQ(sentences(*f.instance, ReasonTable::k_composed | 9999),
            Texts{"plugin example.com/P gave reason 9999, which it does not list"});
  f.note.write("own words");
  EXPECT_EQ(sentences(*f.instance, f.note), Texts{"own words"});
  f.note.abi()->reason = 1;
  EXPECT_EQ(sentences(*f.instance, f.note), Texts{"first reason"}) << "a reason goes before the text";
}

TEST(GroupOf, FailsWhereThePolicyCannotTell) {
  FrameworkFixture f;
  FakePlugin& plugin = f.make_plugin("Gang");
  plugin.group_of = [](const berth_pod_v1&, berth_str& name, berth_note_v1*) -> berth_code {
    name = key("g");
    return BERTH_OK;
  };
  const PluginInstance& gang = f.add(plugin);
  const model::Pod pod;
  EXPECT_EQ(group_of(gang, pod).value(), "g");
  plugin.group_of = [](const berth_pod_v1&, berth_str&, berth_note_v1*) -> berth_code { return BERTH_OK; };
  EXPECT_EQ(group_of(gang, pod).value(), "");
  plugin.group_of = [](const berth_pod_v1&, berth_str& name, berth_note_v1* note) -> berth_code {
    name = key("half");
    explain(note, "the label is of another controller");
    return BERTH_ERROR;
  };
  EXPECT_EQ(group_of(gang, pod).error().message,
            "running group_of of plugin \"Gang\": the label is of another controller");
  plugin.group_of = [](const berth_pod_v1&, berth_str&, berth_note_v1*) -> berth_code { return BERTH_SKIP; };
  EXPECT_FALSE(group_of(gang, pod).ok()) << "no answer to this question";
  plugin.group_of = [](const berth_pod_v1&, berth_str&, berth_note_v1*) -> berth_code {
    throw std::runtime_error("no label");
  };
  EXPECT_EQ(group_of(gang, pod).error().message, "running group_of of plugin \"Gang\": no label");
}

TEST(Creation, ReportsThePluginsOwnWords) {
  FrameworkFixture f;
  FakePlugin& plugin = f.make_plugin("P");
  plugin.create = [](const berth_binder_v1&, berth_note_v1* note) -> berth_code {
    explain(note, "weight must be positive");
    return BERTH_BAD_ARGS;
  };
  auto made = f.create(plugin);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, "weight must be positive");
  plugin.create = [](const berth_binder_v1&, berth_note_v1*) -> berth_code { return BERTH_BAD_ARGS; };
  EXPECT_EQ(f.create(plugin).error().message, "create returned 18");
  plugin.create = [](const berth_binder_v1&, berth_note_v1*) -> berth_code { throw std::runtime_error("no licence"); };
  EXPECT_EQ(f.create(plugin).error().message, "no licence");
}

}  // namespace
}  // namespace berth::framework::testing
