// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "net/wire/parse_step.hpp"
//
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "net/gzip.hpp"

// Internal to HTTP clients.
namespace berth::net {

// Of an answer's header. Go's client takes 10 MiB; Beast throws on a field of 64 KiB.
inline constexpr std::uint32_t k_header_bytes_max = 65'000;
/// Lines before chunks with their extensions, and trailers: what exceeds 16 bytes for each line and twice the data, in all.
/// So it is in Go, where moreover no line has more than 4 KiB.
inline constexpr std::size_t k_chunk_excess_bytes_max = 16 * 1024;
/// An answer that is one object, or says why there is none. The API server takes objects of 3 MiB at most.
inline constexpr std::uint64_t k_whole_answer_bytes_max = 4 * 1024 * 1024;

/// The answer to one request as its bytes come, wherever they come from: interim answers (1xx) are passed over, its body
/// is handed out in pieces, unpacked when gzip was asked for. However it is made, it holds no more than one piece and
/// what one call adds to the buffer.
///
/// Threads: one.
/// Failure: an Error says what is wrong with the answer; then nothing more can be had of it.
/// Source:  go 1.24 net/http/transport.go and net/http/internal/chunked.go. Departs: a Content-Encoding that was not asked
///          for is an Error; trailers are read and forgotten.
class AnswerParser {
 public:
  struct Limits {
    bool takes_gzip = false;                                                 // it was asked for
    std::optional<std::uint64_t> body_bytes_max = k_whole_answer_bytes_max;  // packed or not; nothing: it is a stream
    std::size_t piece_bytes = 16 * 1024;
  };
  enum class Step : std::uint8_t { more, header, piece, end };

  explicit AnswerParser(Limits limits);

  /// Goes on with what `buffer` holds. more: it holds too little; either more is added or its source has ended.
  Result<Step> step(beast::flat_buffer& buffer);
  /// Nothing more will be added to the buffer.
  void source_ended() { source_ended_ = true; }

  /// After Step::piece, until the next call of step().
  std::string_view piece() const noexcept { return piece_view_; }

  // After Step::header; of the header alone.
  int status() const noexcept { return status_; }
  const std::string& content_type() const noexcept { return content_type_; }
  const std::string& location() const noexcept { return location_; }
  const std::string& retry_after() const noexcept { return retry_after_; }
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  /// After Step::end: the connection may serve another request.
  bool keeps_connection() const { return keeps_connection_ && parser_.keep_alive(); }

 private:
  enum class Phase : std::uint8_t { status, interim, header, body };
  Result<Step> go_on(beast::flat_buffer& buffer);
  Status read_header();
  Result<Step> read_body(beast::flat_buffer& buffer);
  Result<Step> hand_out(std::string_view piece);

  const Limits limits_;
  Phase phase_ = Phase::status;
  bool source_ended_ = false;
  int interim_answers_ = 0;
  std::optional<http::response_parser<http::empty_body>> interim_;
  http::response_parser<http::buffer_body> parser_;
  int status_ = 0;
  std::string content_type_, location_, retry_after_;
  std::vector<std::string> warnings_;
  bool keeps_connection_ = false;

  bool has_chunk_ = false;        // a chunk's line was read
  std::size_t chunk_excess_ = 0;  // bytes around chunks, beyond what is allowed for each
  std::uint64_t packed_bytes_ = 0, body_bytes_ = 0;
  std::vector<char> room_;  // for one piece as it came
  std::optional<Inflate> inflate_;
  std::string_view packed_;  // of room_, not yet unpacked
  std::string unpacked_;
  std::string_view piece_view_;
};

}  // namespace berth::net
