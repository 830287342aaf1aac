// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/read/list_splitter.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "cluster/kube/read/protobuf_frames.hpp"

namespace berth::cluster::kube {
namespace {

struct Split {
  std::vector<std::string> items;
  std::string kind, api_version, metadata;
  bool good = true, complete = false;
};

Split split(std::string_view text, std::size_t piece_bytes) {
  Split out;
  ListSplitter splitter([&](std::string_view item) { out.items.emplace_back(item); });
  for (; !text.empty() && out.good; text.remove_prefix(std::min(piece_bytes, text.size())))
    out.good = splitter.add(text.substr(0, piece_bytes)).ok();
  out.kind = splitter.kind();
  out.api_version = splitter.api_version();
  out.metadata = splitter.metadata();
  out.complete = splitter.complete();
  return out;
}

constexpr std::string_view k_list =
    R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"a":"}]\"{","b":[1,{"c":2}]},)"
    R"( {} ,{"d":null}],"more":[1,"x"],"n":12})";

TEST(ListSplitter, ItemsComeOneByOneHoweverTheTextIsCut) {
  for (std::size_t piece = 1; piece <= k_list.size(); ++piece) {
    const Split got = split(k_list, piece);
    EXPECT_TRUE(got.good && got.complete) << piece;
    EXPECT_EQ(got.items, (std::vector<std::string>{R"({"a":"}]\"{","b":[1,{"c":2}]})", "{}", R"({"d":null})"}))
        << piece;
    EXPECT_EQ(got.kind, "PodList");
    EXPECT_EQ(got.api_version, "v1");
    EXPECT_EQ(got.metadata, R"({"resourceVersion":"7"})");
  }
}

TEST(ListSplitter, MetadataMayComeLastAndItemsMayBeNull) {
  EXPECT_EQ(split(R"({"items":[{}],"metadata":{"continue":"x"}})", 5).metadata, R"({"continue":"x"})");
  const Split empty = split("{\"items\":null,\"kind\":\"PodList\"}\n", 3);
  EXPECT_TRUE(empty.good && empty.complete && empty.items.empty());
  EXPECT_EQ(empty.kind, "PodList");
}

// The reader of an item says whether it is good; the items around it are read as usual.
TEST(ListSplitter, ItemsAreWhateverTheyAre) {
  const Split got = split(R"({"items":[{"a":1},1, null,"x]",[{}], {"b":tru},{}],"metadata":{}})", 3);
  EXPECT_TRUE(got.good && got.complete);
  EXPECT_EQ(got.items, (std::vector<std::string>{R"({"a":1})", "1", "null", R"("x]")", "[{}]", R"({"b":tru})", "{}"}));
}

TEST(ListSplitter, ATruncatedListIsNotComplete) {
  for (std::size_t size = 0; size < k_list.size(); ++size)
    EXPECT_FALSE(split(k_list.substr(0, size), 16).complete) << size;
}

TEST(ListSplitter, WhatIsNoListIsRefused) {
  for (const char* text : {"[]", "x", "{1:2}", R"({"items":[}]})", R"({"items":[:1]})", R"({"a" "b"})"})
    EXPECT_FALSE(split(text, 100).good) << text;
}

TEST(LineSplitter, LinesComeWholeHoweverTheyAreCut) {
  const std::string text = "{\"a\":1}\n{\"b\":2}\n\nrest";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    std::vector<std::string> lines;
    LineSplitter splitter([&](std::string_view line) { lines.emplace_back(line); });
    for (std::size_t at = 0; at < text.size(); at += piece)
      EXPECT_TRUE(splitter.add(std::string_view(text).substr(at, piece)).ok());
    EXPECT_EQ(lines, (std::vector<std::string>{"{\"a\":1}", "{\"b\":2}", ""})) << piece;
    EXPECT_EQ(splitter.pending_bytes(), 4U);
  }
}

/// Adds `piece` until it is refused; how many bytes were taken before.
template <typename Splitter>
std::size_t taken_of(Splitter& splitter, std::string_view start, std::string_view piece) {
  std::size_t taken = 0;
  for (std::string_view next = start; taken < 4 * k_object_bytes_max; next = piece) {
    if (!splitter.add(next).ok()) break;
    taken += next.size();
  }
  EXPECT_FALSE(splitter.add("x").ok()) << "nothing more is taken";
  return taken;
}

TEST(Splitters, AnObjectHasALimitAndIsRefusedBeforeItIsHeld) {
  const std::string piece(1 << 20, 'a');
  std::size_t count = 0;
  const auto item = [&](std::string_view) { ++count; };
  LineSplitter lines(item);
  EXPECT_LE(taken_of(lines, "{\"a\":\"", piece), k_object_bytes_max) << "D-endless-line";
  EXPECT_EQ(lines.pending_bytes(), 0U);
  for (const char* const start : {"{\"items\":[{\"a\":\"", "{\"metadata\":\"", "{\"", "{\"n\":"}) {
    ListSplitter list(item);
    EXPECT_LE(taken_of(list, start, piece), k_object_bytes_max + 100) << start;
  }
  FrameSplitter frames(item);
  EXPECT_EQ(taken_of(frames, std::string_view("\xFF\xFF\xFF\xFF", 4), piece), 0U) << "D-proto-frame";
  ProtobufListSplitter list(item);
  // The list has 4 GiB, which is not limited; its first item says that it has 2 GiB.
  const std::string_view huge("k8s\0\x12\xFF\xFF\xFF\xFF\x0F\x12\xFF\xFF\xFF\xFF\x07", 16);
  EXPECT_EQ(taken_of(list, huge, piece), 0U);
  EXPECT_EQ(count, 0U);
}

TEST(Splitters, AListMayBeLargerThanAnyOfItsItems) {
  std::size_t bytes = 0;
  const std::string text = "{\"a\":\"" + std::string(15 << 20, 'a') + "\"}";
  ListSplitter list([&](std::string_view item) { bytes += item.size(); });
  ASSERT_TRUE(list.add("{\"items\":[").ok());
  LineSplitter lines([&](std::string_view line) { bytes += line.size(); });
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(list.add((i == 0 ? "" : ",") + text).ok());
    ASSERT_TRUE(lines.add(text + "\n").ok());
  }
  EXPECT_EQ(bytes, 6 * text.size());
}

}  // namespace
}  // namespace berth::cluster::kube
