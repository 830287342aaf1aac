// SPDX-License-Identifier: Apache-2.0
#include "cache/interned_lists.hpp"

#include <gtest/gtest.h>

namespace berth::cache {
namespace {

using Lists = InternedLists<std::uint32_t>;
using Members = std::vector<std::uint32_t>;

Members members_of(const Lists& lists, std::uint32_t id) {
  const auto span = lists.members(id);
  return {span.begin(), span.end()};
}

TEST(InternedLists, EqualListsHaveEqualNumbers) {
  Lists lists;
  const std::uint32_t a = lists.intern(Members{1, 2, 3});
  EXPECT_EQ(lists.intern(Members{1, 2, 3}), a);
  EXPECT_NE(lists.intern(Members{3, 2, 1}), a) << "order counts";
  EXPECT_NE(lists.intern(Members{1, 2}), a);
  EXPECT_EQ(members_of(lists, a), (Members{1, 2, 3}));
  EXPECT_EQ(lists.id_limit(), 4u) << "three lists and the empty one";
}

TEST(InternedLists, ZeroIsTheEmptyList) {
  Lists lists;
  EXPECT_EQ(lists.intern({}), 0u);
  EXPECT_TRUE(lists.members(0).empty());
  EXPECT_NE(lists.intern(Members{0}), 0u);
}

TEST(InternedLists, RetainOnlyGivesUnmarkedNumbersToNewLists) {
  Lists lists;
  const std::uint32_t kept = lists.intern(Members{1});
  const std::uint32_t dropped = lists.intern(Members{2});
  std::vector<bool> marks(lists.id_limit());
  marks[kept] = true;
  lists.retain_only(marks);
  Lists one;
  one.intern(Members{1});
  EXPECT_EQ(lists.bytes(), one.bytes()) << "what was dropped takes no memory";
  EXPECT_EQ(lists.intern(Members{1}), kept);
  EXPECT_EQ(lists.intern(Members{7}), dropped);
  EXPECT_EQ(members_of(lists, dropped), Members{7});
  EXPECT_NE(lists.intern(Members{2}), dropped) << "what was dropped is a new list when it returns";
}

TEST(InternedLists, MembersStayWhereTheyAreWhileTheTableGrows) {
  Lists lists;
  const std::uint32_t first = lists.intern(Members{4, 5});
  const auto span = lists.members(first);
  for (std::uint32_t i = 0; i < 5000; ++i) lists.intern(Members{i, i + 1, i + 2});
  EXPECT_EQ(lists.members(first).data(), span.data());
  for (std::uint32_t i = 0; i < 5000; i += 511)
    EXPECT_EQ(members_of(lists, lists.intern(Members{i, i + 1, i + 2})), (Members{i, i + 1, i + 2}));
}

}  // namespace
}  // namespace berth::cache
