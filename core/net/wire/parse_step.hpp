// SPDX-License-Identifier: Apache-2.0
#pragma once
#if defined(__SANITIZE_THREAD__) && !defined(BOOST_ASIO_DISABLE_FENCED_BLOCK)
#define BOOST_ASIO_DISABLE_FENCED_BLOCK 1
#endif
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cstddef>
#include <exception>

// Internal to HTTP clients and test servers: bytes to messages of HTTP/1.1, without connections and coroutines.
namespace berth::net {

namespace beast = boost::beast;
namespace http = boost::beast::http;

enum class Until {
  header,
  piece,  // what is there of the body; http::error::need_buffer says that the parser's buffer is full
  end,
};

/// What may wait to be understood: a header, the line before a chunk, the trailers after the last. Beast bounds headers
/// alone; a body never waits.
inline constexpr std::size_t k_unparsed_bytes_max = 80 * 1024;

template <bool is_request>
bool is_done(const http::basic_parser<is_request>& parser, Until until) {
  return until == Until::header ? parser.is_header_done() : parser.is_done();
}

/// As far as what `buffer` holds goes; http::error::need_more: not far enough to stop. What Beast throws (at a field of
/// 64 KiB that is no header, at an answer that does not fit into memory) is http::error::header_limit.
template <bool is_request>
boost::system::error_code parse_step(beast::flat_buffer& buffer, http::basic_parser<is_request>& parser, Until until) {
  try {
    while (buffer.size() > 0) {
      boost::system::error_code error;
      const std::size_t used = parser.put(buffer.data(), error);
      buffer.consume(used);
      if (error == http::error::need_more) break;
      if (error || is_done(parser, until) || (until == Until::piece && parser.is_header_done())) return error;
      if (used == 0) break;
    }
  } catch (const std::exception&) {
    return http::error::header_limit;
  }
  if (buffer.size() > k_unparsed_bytes_max) return http::error::header_limit;
  return http::error::need_more;
}

}  // namespace berth::net
