// SPDX-License-Identifier: Apache-2.0
#include "loader/findings.hpp"

#include <gtest/gtest.h>

#include "loader/near_names.hpp"

namespace berth::loader {
namespace {

using Names = std::vector<std::string>;

TEST(Finding, HasOneShape) {
  Finding finding = make_finding("P013");
  finding.file = "/plugins/rack-spread.so";
  finding.sha256 = std::string(64, 'f');
  finding.build_id = "9a22bb9a22bb9a22bb";
  finding.plugin = "example.com/RackSpread 1.2.0, SDK 1.6.1";
  finding.evidence = {"requires ABI 1.6, this berth 0.9.2 implements 1.4", "second line"};
  finding.advice = "upgrade berth";
  finding.config = "berth.yaml:14:9  plugins.files[2]";
  EXPECT_EQ(render(finding),
            "BERTH-P013 plugin needs a newer berth\n"
            "  file:      /plugins/rack-spread.so  (sha256 ffffffffffff…, build id 9a22bb9a22bb…)\n"
            "  plugin:    example.com/RackSpread 1.2.0, SDK 1.6.1\n"
            "  evidence:  requires ABI 1.6, this berth 0.9.2 implements 1.4\n"
            "             second line\n"
            "  do:        upgrade berth\n"
            "  config:    berth.yaml:14:9  plugins.files[2]\n"
            "  look:      berth plugin inspect /plugins/rack-spread.so\n");
}

TEST(Finding, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(render(make_finding("P041")), "BERTH-P041 two files offer the same plugin\n");
}

TEST(Escaped, LeavesTextAndSpellsOutTheRest) {
  EXPECT_EQ(escaped("plain, ä, 日本 and \\"), "plain, ä, 日本 and \\");
  EXPECT_EQ(escaped("a\nb\x1b[31m\x7f"), "a\\x0ab\\x1b[31m\\x7f");
  EXPECT_EQ(escaped("\xc3"), "\\xc3");                    // a sequence that is cut
  EXPECT_EQ(escaped("\xc0\xaf"), "\\xc0\\xaf");           // not the shortest form
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(escaped("a\u202eb"), "a\\xe2\\x80\\xaeb");    // what follows would be shown from right to left
  EXPECT_EQ(escaped("\u2066\u061c\u2028"), "\\xe2\\x81\\xa6\\xd8\\x9c\\xe2\\x80\\xa8");
  EXPECT_EQ(escaped("\u2030\u2065\u061b\u00e9"), "\u2030\u2065\u061b\u00e9");
  EXPECT_EQ(escaped("\xc2\x9b"), "\\xc2\\x9b");  // a control character of ISO 8859
  EXPECT_EQ(escaped("abcdef", 3), "abc…");
}

TEST(NearNames, FindsTypingErrorsAndOtherDomains) {
  const Names names = {"NodeName", "NodePorts", "NodeAffinity", "example.com/RackSpread"};
  EXPECT_EQ(near_names("NodeNmae", names), Names{"NodeName"});
  EXPECT_EQ(near_names("nodeports", names), Names{"NodePorts"});
  EXPECT_EQ(near_names("RackSpread", names), Names{"example.com/RackSpread"});
  EXPECT_EQ(near_names("ImageLocality", names), Names{});
}

}  // namespace
}  // namespace berth::loader
