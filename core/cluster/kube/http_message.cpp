// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/http_message.hpp"

#include <spdlog/fmt/fmt.h>

namespace berth::cluster::kube {
namespace {

using boost::system::error_code;
constexpr std::size_t k_read_bytes_max = 64 * 1024;
constexpr int k_interim_answers_max = 5;
constexpr std::string_view k_status_line = "HTTP/1.1 200";
constexpr std::size_t k_status_begin = 9;

template <bool is_request>
bool is_done(const http::basic_parser<is_request>& parser, Until until) {
  return until == Until::header ? parser.is_header_done() : parser.is_done();
}

/// As far as what `buffer` holds goes; http::error::need_more: not far enough to stop.
template <bool is_request>
error_code parse(beast::flat_buffer& buffer, http::basic_parser<is_request>& parser, Until until) {
  while (buffer.size() > 0) {
    error_code error;
    const std::size_t used = parser.put(buffer.data(), error);
    buffer.consume(used);
    if (error || is_done(parser, until) || (until == Until::piece && parser.is_header_done())) return error;
    if (used == 0) break;
  }
  return http::error::need_more;
}

/// `ended`: no more comes. A socket that has said so is not read again: Asio would wait for news of it for ever.
template <bool is_request>
asio::awaitable<ByteStream::Moved> read(ByteStream& stream, beast::flat_buffer& buffer,
                                        http::basic_parser<is_request>& parser, Until until, bool ended = false) {
  // One that is eager asks for more although it has some: a piece is wanted as soon as it is there.
  parser.eager(until == Until::end);
  ByteStream::Moved all;
  while (!is_done(parser, until)) {
    all.error = parse(buffer, parser, until);
    if (all.error != http::error::need_more) break;
    const auto room = buffer.prepare(beast::read_size(buffer, k_read_bytes_max));
    ByteStream::Moved got{asio::error::eof, 0};
    if (!ended) got = co_await stream.read_some(room);
    all.bytes += got.bytes;
    all.error = got.error;
    if (got.error == asio::error::eof) {
      // What ends with the connection is whole; whatever else is cut short.
      all.error = http::error::end_of_stream;
      if (parser.got_some()) parser.put_eof(all.error = {});
      break;
    }
    if (got.error) break;
    buffer.commit(got.bytes);
  }
  co_return all;
}

/// Waits for enough of a status line to see its number. Empty: it ended before (asio::error::eof), or is none.
asio::awaitable<ByteStream::Moved> read_status(ByteStream& stream, beast::flat_buffer& buffer, std::string& status) {
  ByteStream::Moved all;
  status.clear();
  while (buffer.size() < k_status_line.size()) {
    const auto room = buffer.prepare(k_read_bytes_max);
    const ByteStream::Moved got = co_await stream.read_some(room);
    all.bytes += got.bytes;
    buffer.commit(got.bytes);
    if (got.error) {
      all.error = got.error;
      co_return all;
    }
  }
  const std::string_view text(static_cast<const char*>(buffer.data().data()), k_status_line.size());
  if (text.starts_with("HTTP/1.")) status = text.substr(k_status_begin);
  co_return all;
}

void append_fields(std::string& out, const http::fields& fields) {
  for (const auto& field : fields) {
    const auto name = field.name_string(), value = field.value();
    out.append(name.data(), name.size()).append(": ").append(value.data(), value.size()).append("\r\n");
  }
  out.append("\r\n");
}

}  // namespace

asio::awaitable<ByteStream::Moved> read_message(ByteStream& stream, beast::flat_buffer& buffer,
                                                http::basic_parser<false>& parser, Until until) {
  return read(stream, buffer, parser, until);
}

asio::awaitable<ByteStream::Moved> read_message(ByteStream& stream, beast::flat_buffer& buffer,
                                                http::basic_parser<true>& parser, Until until) {
  return read(stream, buffer, parser, until);
}

asio::awaitable<ByteStream::Moved> read_answer(ByteStream& stream, beast::flat_buffer& buffer,
                                               http::basic_parser<false>& parser, Until until) {
  ByteStream::Moved all;
  std::string status;
  for (int interim = 0; interim <= k_interim_answers_max; ++interim) {
    const ByteStream::Moved seen = co_await read_status(stream, buffer, status);
    all = {seen.error, all.bytes + seen.bytes};
    const bool ended = seen.error == asio::error::eof;  // whoever parses what came says what that means
    if (seen.error && !ended) co_return all;
    const bool is_interim = status.starts_with('1') && status != "101";
    http::response_parser<http::empty_body> skipped;
    http::basic_parser<false>& into = is_interim ? skipped : parser;
    const ByteStream::Moved rest = co_await read(stream, buffer, into, is_interim ? Until::end : until, ended);
    all = {rest.error, all.bytes + rest.bytes};
    if (rest.error || !is_interim) co_return all;
  }
  all.error = http::error::bad_status;  // nothing but promises
  co_return all;
}

std::string bytes_of(const http::request<http::string_body>& message) {
  const auto method = message.method_string(), target = message.target();
  std::string out = fmt::format("{} {} HTTP/1.1\r\n", std::string_view(method.data(), method.size()),
                                std::string_view(target.data(), target.size()));
  append_fields(out, message);
  return out += message.body();
}

std::string bytes_of(const http::response<http::string_body>& message) {
  const auto reason = message.reason();
  std::string out =
      fmt::format("HTTP/1.1 {} {}\r\n", message.result_int(), std::string_view(reason.data(), reason.size()));
  append_fields(out, message);
  return out += message.body();
}

}  // namespace berth::cluster::kube
