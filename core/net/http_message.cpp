// SPDX-License-Identifier: Apache-2.0
#include "net/http_message.hpp"

#include <spdlog/fmt/fmt.h>

namespace berth::net {
namespace {

using boost::system::error_code;
constexpr std::size_t k_read_bytes_max = 64 * 1024;
template <bool is_request>
asio::awaitable<ByteStream::Moved> read(ByteStream& stream, beast::flat_buffer& buffer,
                                        http::basic_parser<is_request>& parser, Until until) {
  // One that is eager asks for more although it has some: a piece is wanted as soon as it is there.
  parser.eager(until == Until::end);
  ByteStream::Moved all;
  while (!is_done(parser, until)) {
    all.error = parse_step(buffer, parser, until);
    if (all.error != http::error::need_more) break;
    const auto room = buffer.prepare(beast::read_size(buffer, k_read_bytes_max));
    const ByteStream::Moved got = co_await stream.read_some(room);
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

asio::awaitable<AnswerStep> read_step(ByteStream& stream, beast::flat_buffer& buffer, AnswerParser& answer) {
  AnswerStep out;
  for (;;) {
    out.step = answer.step(buffer);
    if (!out.step.ok() || *out.step != AnswerParser::Step::more) co_return out;
    const auto room = buffer.prepare(beast::read_size(buffer, k_read_bytes_max));
    const ByteStream::Moved got = co_await stream.read_some(room);
    out.bytes += got.bytes;
    buffer.commit(got.bytes);
    if (got.error == asio::error::eof) {
      // Not read again: Asio would wait for news of it for ever.
      answer.source_ended();
    } else if (got.error) {
      out.error = got.error;
      co_return out;
    }
  }
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

}  // namespace berth::net
