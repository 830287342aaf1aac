// SPDX-License-Identifier: Apache-2.0
#include "report/text_table.hpp"

#include <gtest/gtest.h>

namespace berth::app {
namespace {

TEST(DisplayWidth, CountsWhatATerminalShows) {
  EXPECT_EQ(report::display_width(""), 0u);
  EXPECT_EQ(report::display_width("node"), 4u);
  EXPECT_EQ(report::display_width("█▌░"), 3u);
  EXPECT_EQ(report::display_width("\033[31mred\033[0m"), 3u);
}

TEST(TextTable, AlignsColumnsByWidthAndLeavesNoTrailingSpaces) {
  report::TextTable table({{"NODE"}, {"PODS", report::TextTable::Align::right}, {"BAR"}});
  table.add({"a", "7", "█░"});
  table.add({"worker-10", "110", ""});
  EXPECT_EQ(table.render(2),
            "  NODE       PODS  BAR\n"
            "  a             7  █░\n"
            "  worker-10   110\n");
}

TEST(TextTable, ColourDoesNotMoveColumns) {
  report::TextTable table({{"A"}, {"B"}});
  table.add_painted({"\033[31mx\033[0m", "1"});
  table.add({"yy", "2"});
  EXPECT_EQ(table.render(), "A   B\n\033[31mx\033[0m   1\nyy  2\n");
}

}  // namespace
}  // namespace berth::app
