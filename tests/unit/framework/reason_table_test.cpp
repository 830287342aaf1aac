// SPDX-License-Identifier: Apache-2.0
#include "framework/reason_table.hpp"

#include <gtest/gtest.h>

namespace berth::framework {
namespace {

using TextList = std::vector<std::string>;

TextList texts_of(const ReasonTable& table, berth_reason id) {
  const auto span = table.texts(id);
  return {span.begin(), span.end()};
}

TEST(ReasonTable, GivesEqualListsEqualIds) {
  ReasonTable table;
  const berth_reason id = table.make({"Too many pods", "Insufficient cpu"});
  EXPECT_NE(id & ReasonTable::k_composed, 0u) << "no id of a plugin's own table";
  EXPECT_EQ(table.make({"Too many pods", "Insufficient cpu"}), id);
  EXPECT_NE(table.make({"Insufficient cpu", "Too many pods"}), id);
  EXPECT_EQ(texts_of(table, id), (TextList{"Too many pods", "Insufficient cpu"}));
  EXPECT_TRUE(table.texts(id + 100).empty());
}

TEST(ReasonTable, FoldsWhatIsTooMuchAndForgetsItBetweenCycles) {
  ReasonTable table;
  const berth_reason first = table.make({"first"});
  table.trim();
  EXPECT_EQ(texts_of(table, first), TextList{"first"}) << "a few lists are kept";
  for (std::size_t i = 1; i < ReasonTable::k_max_lists; ++i) table.make({std::to_string(i)});
  const berth_reason folded = table.make({"one too many"});
  EXPECT_EQ(texts_of(table, folded), TextList{"(too many reasons)"});
  EXPECT_EQ(table.make({"another"}), folded);
  EXPECT_EQ(table.make({"first"}), first);
  table.trim();
  EXPECT_TRUE(table.texts(first).empty());
  EXPECT_EQ(texts_of(table, table.make({"another"})), TextList{"another"});
}

}  // namespace
}  // namespace berth::framework
