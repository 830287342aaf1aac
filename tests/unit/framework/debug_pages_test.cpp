// SPDX-License-Identifier: Apache-2.0
#include "framework/services/debug_pages.hpp"

#include <string>
#include <vector>

#include "unit/framework/framework_fixture.hpp"

namespace berth::framework::testing {
namespace {

using Offered = DebugPages::Offered;

struct PagesFixture : FrameworkFixture {
  const PluginInstance& plugin(const std::string& name) {
    FakePlugin& made = make_plugin(name);
    made.filter = [](const berth_cycle_v1&, const berth_node_block_v1&, berth_filter_out_v1&,
                     berth_note_v1*) -> berth_code { return BERTH_OK; };
    return add(made);
  }
  DebugPages pages;
};

berth_code write_number(void* arg, berth_page_append_v1 append, void* out, berth_note_v1*) {
  const std::string text = std::to_string(*static_cast<int*>(arg));
  append(out, key("["));
  append(out, {text.data(), text.size()});
  return append(out, key("]"));
}

TEST(DebugPages, AreWrittenByThePluginThatOffersThem) {
  PagesFixture f;
  int number = 7;
  EXPECT_EQ(f.pages.offer(f.plugin("A"), "numbers", &write_number, &number), Offered::accepted);
  EXPECT_EQ(f.pages.names(), std::vector<std::string>{"numbers"});
  EXPECT_EQ(*f.pages.render("numbers"), "[7]");
  number = 8;
  EXPECT_EQ(*f.pages.render("numbers"), "[8]");
  EXPECT_FALSE(f.pages.render("others").ok());
}

TEST(DebugPages, HaveOneOwner) {
  PagesFixture f;
  int first = 1, second = 2;
  EXPECT_EQ(f.pages.offer(f.plugin("A"), "numbers", &write_number, &first), Offered::accepted);
  EXPECT_EQ(f.pages.offer(f.plugin("A"), "numbers", &write_number, &second), Offered::accepted) << "another profile's";
  EXPECT_EQ(f.pages.offer(f.plugin("B"), "numbers", &write_number, &second), Offered::taken);
  EXPECT_EQ(*f.pages.render("numbers"), "[1]");
}

TEST(DebugPages, KeepOffTheHostsOwnAndOddNames) {
  PagesFixture f;
  const PluginInstance& a = f.plugin("A");
  int number = 1;
  for (const char* own : {"queue", "cache", "plugins", "pods", "flags"})
    EXPECT_EQ(f.pages.offer(a, own, &write_number, &number), Offered::taken) << own;
  for (const std::string& odd :
       std::vector<std::string>{"", "A", "a/b", "../x", "9a", "-a", "a b", "a\n", std::string(64, 'a')})
    EXPECT_EQ(f.pages.offer(a, odd, &write_number, &number), Offered::not_a_name) << odd;
  EXPECT_EQ(f.pages.offer(a, std::string(63, 'a'), &write_number, &number), Offered::accepted);
}

TEST(DebugPages, ThatFailSayWhoseTheyAre) {
  PagesFixture f;
  f.pages.offer(
      f.plugin("example.com/A"), "broken",
      [](void*, berth_page_append_v1, void*, berth_note_v1* note) -> berth_code {
        explain(note, "no luck");
        return BERTH_ERROR;
      },
      nullptr);
  EXPECT_EQ(f.pages.render("broken").error().message, "plugin example.com/A shows no page: no luck");
}

TEST(DebugPages, EndAtAnExceptionAndAtTheirLimit) {
  PagesFixture f;
  f.pages.offer(
      f.plugin("A"), "throws",
      [](void*, berth_page_append_v1, void*, berth_note_v1*) -> berth_code { throw std::runtime_error("oh"); },
      nullptr);
  EXPECT_EQ(f.pages.render("throws").error().message, "plugin A shows no page: oh");
  f.pages.offer(
      f.plugin("B"), "endless",
      [](void*, berth_page_append_v1 append, void* out, berth_note_v1*) -> berth_code {
        const std::string piece(1 << 20, 'x');
        while (append(out, {piece.data(), piece.size()}) == BERTH_OK) {
        }
        return append(out, {piece.data(), piece.size()}) == BERTH_OK ? BERTH_OK : BERTH_ERROR;
      },
      nullptr);
  EXPECT_EQ(f.pages.render("endless").error().message, "plugin B has more to show than 64 MiB");
}

}  // namespace
}  // namespace berth::framework::testing
