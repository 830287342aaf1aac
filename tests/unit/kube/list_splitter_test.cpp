// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/list_splitter.hpp"

#include <gtest/gtest.h>

#include <vector>

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

TEST(ListSplitter, ATruncatedListIsNotComplete) {
  for (std::size_t size = 0; size < k_list.size(); ++size)
    EXPECT_FALSE(split(k_list.substr(0, size), 16).complete) << size;
}

TEST(ListSplitter, WhatIsNoListIsRefused) {
  for (const char* text : {"[]", "x", "{1:2}", R"({"items":[1]})", R"({"a" "b"})"})
    EXPECT_FALSE(split(text, 100).good) << text;
}

TEST(LineSplitter, LinesComeWholeHoweverTheyAreCut) {
  const std::string text = "{\"a\":1}\n{\"b\":2}\n\nrest";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    std::vector<std::string> lines;
    LineSplitter splitter([&](std::string_view line) { lines.emplace_back(line); });
    for (std::size_t at = 0; at < text.size(); at += piece) splitter.add(std::string_view(text).substr(at, piece));
    EXPECT_EQ(lines, (std::vector<std::string>{"{\"a\":1}", "{\"b\":2}", ""})) << piece;
    EXPECT_EQ(splitter.pending_bytes(), 4U);
  }
}

}  // namespace
}  // namespace berth::cluster::kube
