// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "serving/https_server.hpp"

// Internal to core/serving and its fuzz target.
namespace berth::serving {

/// Why a request is not looked at.
struct RequestRefusal {
  int status = 400;
  const char* why = "the request cannot be read";
};

/// Makes requests of the bytes that a caller sends, in whatever pieces they come. What a request may have is bounded in
/// every part: bytes and number of header fields, query, body. A body has a Content-Length; transfer encodings are
/// refused, since their extensions and trailers have no bound in the parser.
///
/// Place:   between a connection's reads and the server's answers; knows no sockets.
/// Threads: one at a time.
/// Failure: `refused`, with the status for the answer, after which nothing more is read.
class RequestReader {
 public:
  static constexpr std::uint32_t k_header_bytes_max = 65'000;  // Go's server takes 1 MiB
  static constexpr std::size_t k_fields_max = 1000;
  static constexpr std::size_t k_query_max = 1000;           // pairs
  static constexpr std::size_t k_body_bytes_max = 16 << 10;  // the one page that takes a body takes a number
  /// What is read and not understood yet: a header at most.
  static constexpr std::size_t k_buffer_bytes_max = 96 << 10;

  enum class Progress : std::uint8_t { needs_more, complete, refused };

  RequestReader();
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  /// Begins with the next request, of which a part, or all, may have come with the last one.
  Progress begin();
  /// Where the next bytes belong. Requires: the request needs more.
  std::span<char> room();
  /// `size` bytes were put there.
  Progress take(std::size_t size);

  /// True when some of the request has come.
  bool has_begun() const noexcept;
  const RequestRefusal& refusal() const noexcept;
  /// Of a complete request: once.
  HttpRequest take_ask();
  unsigned int version() const noexcept;  // 11: HTTP/1.1
  bool keeps_connection() const noexcept;
  /// Bytes of the caller's that are kept here.
  std::size_t kept_bytes() const noexcept;

 private:
  struct State;
  Progress parse();
  std::unique_ptr<State> state_;
};

}  // namespace berth::serving
