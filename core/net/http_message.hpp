// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "net/wire/answer_parser.hpp"
#include "net/wire/byte_stream.hpp"

// Internal to HTTP clients and test servers: messages of HTTP/1.1 on any stream. Beast's own operations do the same,
// but are compiled again for each kind of stream, message and completion.
namespace berth::net {

/// Has `parser` read a message from what `buffer` holds and from the stream. Bytes that belong to the next message stay in
/// `buffer`. Returns what was read off the stream; http::error::end_of_stream when it ended before the message began.
/// The buffer never holds more than k_unparsed_bytes_max and what one read brings.
asio::awaitable<ByteStream::Moved> read_message(ByteStream& stream, beast::flat_buffer& buffer,
                                                http::basic_parser<false>& parser, Until until);
asio::awaitable<ByteStream::Moved> read_message(ByteStream& stream, beast::flat_buffer& buffer,
                                                http::basic_parser<true>& parser, Until until);

/// One step of an answer; Step::more never.
struct AnswerStep {
  boost::system::error_code error;                             // of the stream; then there is no step
  Result<AnswerParser::Step> step = AnswerParser::Step::more;  // an Error: of the answer
  std::size_t bytes = 0;                                       // that were read off the stream
};
asio::awaitable<AnswerStep> read_step(ByteStream& stream, beast::flat_buffer& buffer, AnswerParser& answer);

/// As it goes over the wire. Its fields have to be complete (prepare_payload()); the body is written as it is.
std::string bytes_of(const http::request<http::string_body>& message);
std::string bytes_of(const http::response<http::string_body>& message);

}  // namespace berth::net
