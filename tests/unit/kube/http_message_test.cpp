// SPDX-License-Identifier: Apache-2.0
#include "net/http_message.hpp"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <exception>
#include <string_view>

#include "net/gzip.hpp"

namespace berth::tests {
namespace {

/// Hands out a text in pieces of one size, then ends. The reader must not read on after that: a real socket would say
/// nothing more.
class Pieces final : public net::ByteStream {
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
  std::string error = {};
  int status = 0;
  std::string body = {}, left = {};
};

Read read_one(std::string_view text, std::size_t piece_bytes, net::AnswerParser::Limits limits = {}) {
  Pieces stream(text, piece_bytes);
  beast::flat_buffer buffer;
  net::AnswerParser answer(limits);
  Read out;
  asio::io_context io;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        for (;;) {
          const net::AnswerStep read = co_await net::read_step(stream, buffer, answer);
          if (!read.step.ok()) out.error = read.step.error().message;
          if (!read.step.ok() || *read.step == net::AnswerParser::Step::end) co_return;
          if (*read.step == net::AnswerParser::Step::piece) out.body += answer.piece();
        }
      },
      net::end_of_coroutine);
  io.run();
  out.status = answer.status();
  out.left = beast::buffers_to_string(buffer.data());
  return out;
}

/// However the network cuts it. An error: some words of it.
void expect_read(std::string_view text, const Read& expected, net::AnswerParser::Limits limits = {}) {
  const std::size_t few = 700;  // of long ones not every cut
  for (std::size_t piece_bytes = 1; piece_bytes <= text.size();
       piece_bytes += piece_bytes < few ? 1 : text.size() / 5) {
    if (text.size() > 5000 && piece_bytes > 3 && piece_bytes < few) continue;
    const Read read = read_one(text, piece_bytes, limits);
    EXPECT_EQ(read.error.empty(), expected.error.empty()) << "in pieces of " << piece_bytes << ": " << read.error;
    EXPECT_NE(read.error.find(expected.error), std::string::npos)
        << "in pieces of " << piece_bytes << ": " << read.error;
    if (!read.error.empty()) continue;
    EXPECT_EQ(read.status, expected.status);
    EXPECT_EQ(read.body, expected.body) << "in pieces of " << piece_bytes;
  }
}

constexpr std::string_view k_chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
constexpr std::string_view k_gzip = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk(std::string_view data, const std::string& extension = "") {
  return fmt::format("{:x}{}\r\n{}\r\n", data.size(), extension, data);
}

TEST(HttpMessage, IsReadHoweverItIsCut) {
  expect_read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", {{}, 200, "hello", ""});
  expect_read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n",
              {{}, 200, "hello", ""});
  expect_read("HTTP/1.0 404 Not Found\r\n\r\nuntil the end", {{}, 404, "until the end", ""});
  expect_read("HTTP/1.1 204 No Content\r\n\r\n", {{}, 204, "", ""});
  expect_read(std::string(k_chunked) + "0\r\n\r\n", {{}, 200, "", ""});
  expect_read(std::string(k_chunked) + "1\r\na\r\n0\r\nLate: field\r\n\r\n", {{}, 200, "a", ""});
}

TEST(HttpMessage, WhatFollowsItStaysForTheNext) {
  const Read read = read_one("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 201 Created\r\n", 1000);
  EXPECT_EQ(read.body, "ok");
  EXPECT_EQ(read.left, "HTTP/1.1 201 Created\r\n");
}

TEST(HttpMessage, InterimAnswersArePassedOverUpToFive) {
  const std::string promise = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", answer = "HTTP/1.1 200 OK\r\n\r\nok";
  expect_read("HTTP/1.1 100 Continue\r\n\r\n" + promise + answer, {{}, 200, "ok", ""});
  EXPECT_EQ(read_one(promise + promise + promise + promise + promise + answer, 10).status, 200);
  expect_read(promise + promise + promise + promise + promise + promise + answer, {"more than 5 answers of 1xx"});
  std::string flood = "HTTP/1.1 100 Continue\r\nX: " + std::string(60'000, 'a') + "\r\n\r\n";
  expect_read(flood + flood + answer, {{}, 200, "ok", ""});
}

TEST(HttpMessage, APieceIsThereAsSoonAsItHasCome) {
  // The next chunk's size is not known yet, and no end comes.
  Pieces stream(std::string_view("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), 1000);
  beast::flat_buffer buffer;
  net::AnswerParser answer({false, std::nullopt});
  std::string got;
  asio::io_context io;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        const net::AnswerStep header = co_await net::read_step(stream, buffer, answer);
        EXPECT_TRUE(header.step.ok() && *header.step == net::AnswerParser::Step::header);
        const net::AnswerStep piece = co_await net::read_step(stream, buffer, answer);
        EXPECT_TRUE(piece.step.ok() && *piece.step == net::AnswerParser::Step::piece);
        got = answer.piece();
      },
      net::end_of_coroutine);
  io.run();
  EXPECT_EQ(got, "hello");
}

TEST(HttpMessage, ThatIsCutShortIsAnError) {
  expect_read("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", {"partial message"});
  expect_read(std::string(k_chunked) + "3\r\nhe", {"partial message"});
  expect_read(std::string(k_chunked) + "0\r\n", {"partial message"});
  expect_read("HTTP/1.1 200 OK\r\nConte", {"partial message"});
  expect_read("HTTP", {"partial message"});
  EXPECT_EQ(read_one("", 1).error, "the connection ended before it began");
  expect_read("SSH-2.0-OpenSSH_9.2p1 Debian\r\n", {"bad version"});
}

TEST(HttpMessage, WhatSurroundsChunksIsBounded) {
  // C-trailer: 70,000 bytes of one field, which Beast throws at.
  const std::string end = "0\r\n";
  expect_read(std::string(k_chunked) + end + "X: " + std::string(70'000, 'a') + "\r\n\r\n", {"around its chunks"});
  expect_read(std::string(k_chunked) + end + "X: " + std::string(1'000'000, 'a'), {"around its chunks"});
  expect_read(std::string(k_chunked) + end + "X: " + std::string(10'000, 'a') + "\r\n\r\n", {{}, 200, "", ""});
  std::string many = end;
  for (int i = 0; i < 10'000; ++i) many += "X: y\r\n";
  expect_read(std::string(k_chunked) + many + "\r\n", {"around its chunks"});
  // T2 for clients: one extension, then little ones without end.
  expect_read(std::string(k_chunked) + chunk("a", ";x=" + std::string(100'000, 'a')) + end + "\r\n",
              {"around its chunks"});
  std::string little = std::string(k_chunked);
  for (int i = 0; i < 1000; ++i) little += chunk("a", ";x=" + std::string(100, 'b'));
  expect_read(little + end + "\r\n", {"around its chunks"});
  // Small chunks alone are no error.
  std::string small(k_chunked);
  for (int i = 0; i < 1000; ++i) small += chunk("a");
  expect_read(small + end + "\r\n", {{}, 200, std::string(1000, 'a'), ""});
}

TEST(HttpMessage, AHeaderIsBounded) {
  expect_read("HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'a') + "\r\n\r\n", {"65000 bytes"});
  expect_read("HTTP/1.1 200 OK\r\nX: " + std::string(1'000'000, 'a'), {"65000 bytes"});
  expect_read("HTTP/1.1 200 " + std::string(1'000'000, 'a'), {"65000 bytes"});
}

TEST(HttpMessage, ABodyIsBoundedHoweverItComes) {
  net::AnswerParser::Limits limits;
  limits.body_bytes_max = 20'000;
  const std::string good(20'000, 'b'), more(20'001, 'b');
  const auto with_length = [](const std::string& body) {
    return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
  };
  expect_read(with_length(good), {{}, 200, good, ""}, limits);
  expect_read(with_length(more), {"has 20001 bytes; up to 20000"}, limits);
  expect_read("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n", {"up to 20000"}, limits);
  expect_read("HTTP/1.0 200 OK\r\n\r\n" + good, {{}, 200, good, ""}, limits);
  expect_read("HTTP/1.0 200 OK\r\n\r\n" + more, {"more than the 20000"}, limits);
  expect_read(std::string(k_chunked) + chunk(good) + "0\r\n\r\n", {{}, 200, good, ""}, limits);
  expect_read(std::string(k_chunked) + chunk(more) + "0\r\n\r\n", {"more than the 20000"}, limits);
  expect_read(std::string(k_chunked) + "ffffffffffffffff\r\n" + more, {"more than the 20000"}, limits);
  // A stream has no limit as a whole.
  limits.body_bytes_max.reset();
  expect_read(std::string(k_chunked) + chunk(more) + "0\r\n\r\n", {{}, 200, more, ""}, limits);
}

TEST(HttpMessage, LengthsThatDisagreeAreRefused) {
  for (const char* const header :
       {"Content-Length: 2\r\nContent-Length: 3\r\n", "Content-Length: 2\r\nContent-Length: 2\r\n",
        "Content-Length: 2, 3\r\n", "Content-Length: -1\r\n", "Content-Length: 18446744073709551616\r\n",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n"}) {
    const Read read = read_one("HTTP/1.1 200 OK\r\n" + std::string(header) + "\r\nok0\r\n\r\n", 7);
    // The same length twice is no disagreement; whatever is taken must be what was sent.
    EXPECT_TRUE(!read.error.empty() || read.body == "ok") << header;
  }
  EXPECT_FALSE(read_one("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!", 7).error.empty());
  EXPECT_FALSE(
      read_one("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 7).error.empty());
}

TEST(HttpMessage, GzipIsUnpackedWhereItWasAskedFor) {
  const net::AnswerParser::Limits asked{true};
  const std::string text(50'000, 'x'), packed = net::gzip(text);
  expect_read(std::string(k_gzip) + chunk(packed) + "0\r\n\r\n", {{}, 200, text, ""}, asked);
  expect_read(std::string(k_gzip) + chunk(packed) + "0\r\nContent-Encoding: br\r\n\r\n", {{}, 200, text, ""}, asked);
  expect_read(std::string(k_gzip) + "0\r\n\r\n", {{}, 200, "", ""}, asked);
  expect_read(std::string(k_chunked) + chunk("plain") + "0\r\nContent-Encoding: gzip\r\n\r\n", {{}, 200, "plain", ""},
              asked);
  expect_read(std::string(k_gzip) + chunk(packed) + "0\r\n\r\n", {"was not asked for"});
  expect_read(std::string(k_gzip) + chunk(packed.substr(0, packed.size() - 1)) + "0\r\n\r\n", {"cut off"}, asked);
  expect_read(std::string(k_gzip) + chunk(packed + "more") + "0\r\n\r\n", {"goes on after its end"}, asked);
  expect_read(std::string(k_gzip) + chunk("no gzip at all, though it says so") + "0\r\n\r\n", {"gzip is broken"},
              asked);
  for (const char* const other :
       {"Content-Encoding: br\r\n", "Content-Encoding: gzip, gzip\r\n", "Content-Encoding: gzip, identity\r\n",
        "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n",
        "Content-Encoding: identity\r\nContent-Encoding: gzip\r\n"})
    expect_read("HTTP/1.1 200 OK\r\n" + std::string(other) + "Content-Length: 2\r\n\r\nok", {"was not asked for"},
                asked);
  expect_read("HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 2\r\n\r\nok", {{}, 200, "ok", ""},
              asked);
}

TEST(HttpMessage, ABombIsUnpackedUpToTheLimitAndNoFurther) {
  // D-gzip-bomb-whole and D-gzip-bomb-stream: a thousand times what was sent.
  const std::string packed = net::gzip(std::string(64 << 20, '\0'));
  const std::string bytes =
      fmt::format("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n{}", packed.size(), packed);
  for (const bool is_stream : {false, true}) {
    net::AnswerParser::Limits limits{true};
    if (is_stream) limits.body_bytes_max.reset();
    net::AnswerParser answer(limits);
    beast::flat_buffer buffer;
    const auto room = buffer.prepare(bytes.size());
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(room.data()));
    buffer.commit(bytes.size());
    answer.source_ended();
    std::uint64_t total = 0;
    std::size_t largest = 0;
    Result<net::AnswerParser::Step> step = answer.step(buffer);
    for (; step.ok() && *step != net::AnswerParser::Step::end; step = answer.step(buffer)) {
      total += answer.piece().size();
      largest = std::max(largest, answer.piece().size());
    }
    EXPECT_LE(largest, 16U * 1024);
    if (is_stream) {
      EXPECT_TRUE(step.ok());
      EXPECT_EQ(total, 64U << 20);
    } else {
      ASSERT_FALSE(step.ok());
      EXPECT_EQ(step.error().message, "its body has more than the 4194304 bytes that are read, unpacked");
      EXPECT_LE(total, 4U << 20);
    }
  }
}

TEST(HttpMessage, AReaderOfRequestsDoesNotKeepAnEndlessTrailer) {
  const std::string endless =
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + std::string(1'000'000, 'a');
  Pieces stream(endless, 1000);
  beast::flat_buffer buffer;
  http::request_parser<http::string_body> parser;
  boost::system::error_code error;
  asio::io_context io;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        error = (co_await net::read_message(stream, buffer, parser, net::Until::end)).error;
      },
      net::end_of_coroutine);
  io.run();
  EXPECT_EQ(error, http::error::header_limit);
  EXPECT_LE(buffer.size(), 2 * net::k_unparsed_bytes_max);
}

TEST(HttpMessage, IsWrittenWithItsFieldsAndItsBodyAsTheyAre) {
  http::request<http::string_body> request(http::verb::post, "/a?b=c", 11);
  request.set(http::field::host, "h:1");
  request.body() = "{}";
  request.prepare_payload();
  EXPECT_EQ(net::bytes_of(request), "POST /a?b=c HTTP/1.1\r\nHost: h:1\r\nContent-Length: 2\r\n\r\n{}");
  http::response<http::string_body> response(http::status::not_found, 11);
  response.set(http::field::content_type, "text/plain");
  response.body() = "no";
  response.prepare_payload();
  EXPECT_EQ(net::bytes_of(response),
            "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nno");
}

}  // namespace
}  // namespace berth::tests
