// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "cluster/kube/byte_stream.hpp"

// Internal to cluster/kube and its test servers: messages of HTTP/1.1 on any stream. Beast's own operations do the same,
// but are compiled anew for each kind of stream, message and completion.
namespace berth::cluster::kube {

enum class Until {
  header,
  piece,  // what is there of the body; http::error::need_buffer says that the parser's buffer is full
  end,
};

/// Has `parser` read a message from what `buffer` holds and from the stream. Bytes that belong to the next message stay in
/// `buffer`. Returns what was read off the stream; http::error::end_of_stream when it ended before the message began.
asio::awaitable<ByteStream::Moved> read_message(ByteStream& stream, beast::flat_buffer& buffer,
                                                http::basic_parser<false>& parser, Until until);
asio::awaitable<ByteStream::Moved> read_message(ByteStream& stream, beast::flat_buffer& buffer,
                                                http::basic_parser<true>& parser, Until until);

/// The same for the answer to a request: those of 1xx but 101, which only say that it is to come, are left out, up to
/// five of them, as Go's client does.
asio::awaitable<ByteStream::Moved> read_answer(ByteStream& stream, beast::flat_buffer& buffer,
                                               http::basic_parser<false>& parser, Until until);

/// As it goes over the wire. Its fields have to be complete (prepare_payload()); the body is written as it is.
std::string bytes_of(const http::request<http::string_body>& message);
std::string bytes_of(const http::response<http::string_body>& message);

}  // namespace berth::cluster::kube
