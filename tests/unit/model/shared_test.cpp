// SPDX-License-Identifier: Apache-2.0
#include "model/shared.hpp"

#include <gtest/gtest.h>

#include <span>
#include <thread>

namespace berth::model {
namespace {

TEST(SharedList, ReadsAsAVector) {
  const SharedList<int> empty;
  EXPECT_TRUE(empty.empty() && empty.size() == 0 && empty.begin() == empty.end());
  const SharedList<int> list = {3, 1, 2};
  EXPECT_EQ(std::vector<int>(list.begin(), list.end()), (std::vector<int>{3, 1, 2}));
  EXPECT_EQ(list, (std::vector<int>{3, 1, 2}));
  EXPECT_EQ(std::span<const int>(list).size(), 3U);
  EXPECT_TRUE(list.front() == 3 && list.back() == 2 && list[1] == 1);
  EXPECT_EQ(sizeof(list), sizeof(void*));
}

TEST(SharedList, CopiesShareTheirElementsUntilOneIsWritten) {
  SharedList<int> a = {1, 2};
  SharedList<int> b = a;
  EXPECT_EQ(a.data(), b.data());
  b.push_back(3);
  EXPECT_EQ(a, (std::vector<int>{1, 2}));
  EXPECT_EQ(b, (std::vector<int>{1, 2, 3}));
  const int* const own = b.data();
  b.edit()[0] = 9;  // no other list shares it by now: in place
  EXPECT_EQ(b.data(), own);
  SharedList<int> c = std::move(a);
  EXPECT_TRUE(a.empty());
  EXPECT_EQ(c.size(), 2U);
  c.clear();
  EXPECT_TRUE(c.empty());
}

TEST(SharedList, IsEqualByValue) {
  const SharedList<int> a = {1}, b = {1}, c = {2};
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a == c);
  EXPECT_EQ(SharedList<int>(), SharedList<int>(std::vector<int>{}));
}

TEST(SharedText, ReadsAsAText) {
  SharedText text = "default-scheduler";
  EXPECT_EQ(text, "default-scheduler");
  EXPECT_EQ(std::string_view(text).size(), text.size());
  EXPECT_EQ(fmt::format("{}", text), "default-scheduler");
  const SharedText before = text;
  text += "-2";
  EXPECT_EQ(before, "default-scheduler");
  EXPECT_EQ(text, std::string("default-scheduler-2"));
  EXPECT_TRUE(SharedText("").empty());
}

TEST(SharedList, MayBeCopiedAndDroppedByManyThreads) {
  const SharedList<std::string> list = {"one value that is longer than what fits into a string", "two"};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&list] {
      for (int k = 0; k < 10'000; ++k) {
        SharedList<std::string> copy = list;
        if (k % 100 == 0) copy.push_back("own");
        ASSERT_GE(copy.size(), 2U);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(list.size(), 2U);
}

}  // namespace
}  // namespace berth::model
