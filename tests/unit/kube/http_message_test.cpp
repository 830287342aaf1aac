// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/http_message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>

namespace berth::tests {
namespace {

using namespace cluster::kube;

/// Hands out a text in pieces of one size, then ends. Nobody reads on after that: a real socket would say nothing more.
class Pieces final : public ByteStream {
 public:
  Pieces(std::string_view text, std::size_t piece_bytes) : text_(text), piece_bytes_(piece_bytes) {}

  asio::awaitable<Moved> read_some(asio::mutable_buffer into) override {
    const std::size_t bytes = std::min({piece_bytes_, text_.size(), into.size()});
    std::copy_n(text_.data(), bytes, static_cast<char*>(into.data()));
    text_.remove_prefix(bytes);
    EXPECT_FALSE(has_ended_);
    has_ended_ = bytes == 0;
    co_return Moved{bytes == 0 ? boost::system::error_code(asio::error::eof) : boost::system::error_code(), bytes};
  }
  asio::awaitable<Moved> write(asio::const_buffer bytes) override { co_return Moved{{}, bytes.size()}; }
  beast::tcp_stream& socket() noexcept override { std::terminate(); }  // nothing lies below

 private:
  std::string_view text_;
  std::size_t piece_bytes_;
  bool has_ended_ = false;
};

struct Read {
  boost::system::error_code error;
  int status = 0;
  std::string body, left;
};

Read read_one(std::string_view text, std::size_t piece_bytes) {
  Pieces stream(text, piece_bytes);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  Read out;
  asio::io_context io;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        const ByteStream::Moved read = co_await read_answer(stream, buffer, parser, Until::end);
        out.error = read.error;
      },
      end_of_coroutine);
  io.run();
  out.status = static_cast<int>(parser.get().result_int());
  out.body = parser.get().body();
  out.left = beast::buffers_to_string(buffer.data());
  return out;
}

/// However the network cuts it.
void expect_read(std::string_view text, const Read& expected) {
  for (std::size_t piece_bytes = 1; piece_bytes <= text.size(); ++piece_bytes) {
    const Read read = read_one(text, piece_bytes);
    EXPECT_EQ(read.error, expected.error) << "in pieces of " << piece_bytes << ": " << read.error.message();
    if (read.error) continue;
    EXPECT_EQ(read.status, expected.status);
    EXPECT_EQ(read.body, expected.body) << "in pieces of " << piece_bytes;
  }
}

TEST(HttpMessage, IsReadHoweverItIsCut) {
  expect_read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", {{}, 200, "hello", ""});
  expect_read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n",
              {{}, 200, "hello", ""});
  expect_read("HTTP/1.0 404 Not Found\r\n\r\nuntil the end", {{}, 404, "until the end", ""});
  expect_read("HTTP/1.1 204 No Content\r\n\r\n", {{}, 204, "", ""});
}

TEST(HttpMessage, WhatFollowsItStaysForTheNext) {
  const Read read = read_one("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 201 Created\r\n", 1000);
  EXPECT_EQ(read.body, "ok");
  EXPECT_EQ(read.left, "HTTP/1.1 201 Created\r\n");
}

TEST(HttpMessage, PromisesOfAnAnswerArePassedOverUpToFive) {
  const std::string promise = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", answer = "HTTP/1.1 200 OK\r\n\r\nok";
  expect_read("HTTP/1.1 100 Continue\r\n\r\n" + promise + answer, {{}, 200, "ok", ""});
  EXPECT_EQ(read_one(promise + promise + promise + promise + promise + answer, 10).status, 200);
  EXPECT_TRUE(read_one(promise + promise + promise + promise + promise + promise + answer, 10).error);
}

TEST(HttpMessage, APieceIsThereAsSoonAsItHasCome) {
  // The next chunk's size is not known yet.
  Pieces stream("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", 1000);
  beast::flat_buffer buffer;
  http::response_parser<http::buffer_body> parser;
  std::array<char, 100> place;
  std::string got;
  asio::io_context io;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        ByteStream::Moved read = co_await read_answer(stream, buffer, parser, Until::header);
        while (!read.error && got.empty()) {
          parser.get().body().data = place.data();
          parser.get().body().size = place.size();
          read = co_await read_message(stream, buffer, parser, Until::piece);
          got.assign(place.data(), place.size() - parser.get().body().size);
        }
      },
      end_of_coroutine);
  io.run();
  EXPECT_EQ(got, "hello");
}

TEST(HttpMessage, CutShortItIsAnError) {
  expect_read("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", {http::error::partial_message, 0, "", ""});
  expect_read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhe",
              {http::error::partial_message, 0, "", ""});
  expect_read("HTTP/1.1 200 OK\r\nConte", {http::error::partial_message, 0, "", ""});
  expect_read("HTTP", {http::error::partial_message, 0, "", ""});
  EXPECT_EQ(read_one("", 1).error, http::error::end_of_stream);
  EXPECT_TRUE(read_one("SSH-2.0-OpenSSH_9.2p1 Debian\r\n", 100).error);
}

TEST(HttpMessage, IsWrittenWithItsFieldsAndItsBodyAsTheyAre) {
  http::request<http::string_body> request(http::verb::post, "/a?b=c", 11);
  request.set(http::field::host, "h:1");
  request.body() = "{}";
  request.prepare_payload();
  EXPECT_EQ(bytes_of(request), "POST /a?b=c HTTP/1.1\r\nHost: h:1\r\nContent-Length: 2\r\n\r\n{}");
  http::response<http::string_body> response(http::status::not_found, 11);
  response.set(http::field::content_type, "text/plain");
  response.body() = "no";
  response.prepare_payload();
  EXPECT_EQ(bytes_of(response), "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nno");
}

}  // namespace
}  // namespace berth::tests
