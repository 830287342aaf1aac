// SPDX-License-Identifier: Apache-2.0
#include "serving/request_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace berth::serving {
namespace {

using Progress = RequestReader::Progress;

/// Gives all of it, at most `piece` bytes at a time, until the reader has had enough.
Progress feed(RequestReader& reader, std::string_view bytes, std::size_t piece) {
  Progress progress = Progress::needs_more;
  while (!bytes.empty() && progress == Progress::needs_more) {
    const std::span<char> room = reader.room();
    const std::size_t size = std::min({piece, room.size(), bytes.size()});
    std::copy_n(bytes.data(), size, room.data());
    bytes.remove_prefix(size);
    progress = reader.take(size);
  }
  return progress;
}

TEST(RequestReader, ReadsTheSameInWhateverPiecesItComes) {
  const std::string bytes =
      "PUT /debug/flags%2Fv?a=1&b&c=%20 HTTP/1.1\r\nHost: x\r\nX-One: 1\r\nx-one: 2\r\nContent-Length: 5\r\n\r\nhello";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    RequestReader reader;
    ASSERT_EQ(reader.begin(), Progress::needs_more);
    EXPECT_FALSE(reader.has_begun());
    ASSERT_EQ(feed(reader, bytes, piece), Progress::complete) << piece;
    EXPECT_TRUE(reader.keeps_connection());
    const HttpRequest ask = reader.take_ask();
    EXPECT_EQ(ask.method, "PUT");
    EXPECT_EQ(ask.path, "/debug/flags/v");
    EXPECT_EQ(ask.query, (std::vector<std::pair<std::string, std::string>>{{"a", "1"}, {"b", ""}, {"c", " "}}));
    EXPECT_EQ(ask.headers.size(), 4U);
    EXPECT_EQ(ask.header("x-one"), "1");
    EXPECT_EQ(ask.body, "hello");
  }
}

TEST(RequestReader, WhatComesBeyondARequestIsTheBeginningOfTheNext) {
  RequestReader reader;
  const std::string two = "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.0\r\n\r\nGET /3";
  ASSERT_EQ(feed(reader, two, two.size()), Progress::complete);
  EXPECT_EQ(reader.take_ask().path, "/1");
  ASSERT_EQ(reader.begin(), Progress::complete);
  EXPECT_EQ(reader.take_ask().path, "/2");
  EXPECT_FALSE(reader.keeps_connection()) << "HTTP/1.0";
  EXPECT_EQ(reader.begin(), Progress::needs_more);
  EXPECT_TRUE(reader.has_begun());
}

TEST(RequestReader, NeverKeepsMoreThanAHeaderAndABody) {
  // Many small fields, of which the parser takes each as it comes; one that never ends; a line that never does.
  std::string fields = "GET / HTTP/1.1\r\n";
  while (fields.size() < 1 << 20) fields += "name: value of some length that is taken\r\n";
  for (const std::string& bytes : {fields, "GET / HTTP/1.1\r\nX: " + std::string(1 << 20, 'x'),
                                   "GET /" + std::string(1 << 20, 'x'), std::string(1 << 20, 'G')})
    for (const std::size_t piece : {std::size_t{1000}, bytes.size()}) {
      RequestReader reader;
      ASSERT_EQ(feed(reader, bytes, piece), Progress::refused);
      EXPECT_EQ(reader.refusal().status, 431);
      EXPECT_LE(reader.kept_bytes(), std::size_t{256} << 10);
    }
}

TEST(RequestReader, ChunksAreRefusedByTheHeader) {
  RequestReader reader;
  const std::string head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n";
  ASSERT_EQ(feed(reader, head + "\r\n", 1), Progress::refused);
  EXPECT_EQ(reader.refusal().status, 411);
}

}  // namespace
}  // namespace berth::serving
