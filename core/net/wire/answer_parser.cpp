// SPDX-License-Identifier: Apache-2.0
#include "net/wire/answer_parser.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/utf8.hpp"

namespace berth::net {
namespace {

using boost::system::error_code;
constexpr int k_interim_answers_max = 5;
constexpr std::string_view k_status_line = "HTTP/1.1 200";
constexpr std::size_t k_status_begin = 9;
constexpr std::size_t k_warnings_max = 16;
constexpr std::size_t k_named_bytes_max = 64;
constexpr std::size_t k_least_chunked_bytes = 5;  // "0\r\n\r\n"
constexpr std::size_t k_chunk_line_bytes_free = 16;

std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

Error wrong(const error_code& error) {
  if (error == http::error::header_limit)
    return {fmt::format("its header, a chunk's line or its trailers are longer than {} bytes", k_header_bytes_max)};
  return {error.message()};
}

/// Of a status line that has come so far: "200".
std::string_view status_in(const beast::flat_buffer& buffer) {
  const std::string_view text(static_cast<const char*>(buffer.data().data()), buffer.size());
  if (text.size() < k_status_line.size() || !text.starts_with("HTTP/1.")) return {};
  return text.substr(k_status_begin, k_status_line.size() - k_status_begin);
}

}  // namespace

AnswerParser::AnswerParser(Limits limits) : limits_(limits), room_(limits.piece_bytes) {
  parser_.header_limit(k_header_bytes_max);
  // Beast counts what ends with the connection more than once when it is read in pieces; it is counted here.
  parser_.body_limit(boost::none);
  // One that is eager asks for more although it has some: a piece is wanted as soon as it is there.
  parser_.eager(false);
}

Result<AnswerParser::Step> AnswerParser::step(beast::flat_buffer& buffer) {
  try {
    return go_on(buffer);
  } catch (const std::exception& error) {
    return Error{fmt::format("it cannot be read: {}", error.what())};
  }
}

Result<AnswerParser::Step> AnswerParser::go_on(beast::flat_buffer& buffer) {
  for (;;) {
    if (phase_ == Phase::body) return read_body(buffer);
    if (phase_ == Phase::status) {
      if (buffer.size() < k_status_line.size() && !source_ended_) return Step::more;
      if (buffer.size() == 0) return Error{"the connection ended before it began"};
      const std::string_view status = status_in(buffer);
      const bool is_interim = status.starts_with('1') && status != "101";
      if (is_interim && ++interim_answers_ > k_interim_answers_max)
        return Error{fmt::format("more than {} answers of 1xx came before it", k_interim_answers_max)};
      if (is_interim) interim_.emplace().header_limit(k_header_bytes_max);
      phase_ = is_interim ? Phase::interim : Phase::header;
    }
    const bool is_interim = phase_ == Phase::interim;
    error_code error =
        is_interim ? parse_step(buffer, *interim_, Until::end) : parse_step(buffer, parser_, Until::header);
    if (error == http::error::need_more) {
      if (!source_ended_) return Step::more;
      error = http::error::partial_message;
    }
    if (error) return wrong(error);
    if (!is_interim) {
      phase_ = Phase::body;
      if (Status good = read_header(); !good.ok()) return good.error();
      return Step::header;
    }
    interim_.reset();
    phase_ = Phase::status;
  }
}

Status AnswerParser::read_header() {
  const auto& fields = parser_.get();
  status_ = static_cast<int>(fields.result_int());
  content_type_ = text_of(fields[http::field::content_type]);
  location_ = text_of(fields[http::field::location]);
  retry_after_ = text_of(fields[http::field::retry_after]);
  keeps_connection_ = parser_.keep_alive();
  const auto [first, last] = fields.equal_range(http::field::warning);
  for (auto it = first; it != last && warnings_.size() < k_warnings_max; ++it)
    warnings_.push_back(excerpt(std::string_view(it->value().data(), it->value().size())));

  std::string encoding;  // of all fields of that name
  const auto [first_encoding, last_encoding] = fields.equal_range(http::field::content_encoding);
  for (auto it = first_encoding; it != last_encoding; ++it)
    encoding += (encoding.empty() ? "" : ", ") + text_of(it->value());
  const bool is_gzip = beast::iequals(encoding, "gzip");
  if (is_gzip && limits_.takes_gzip) {
    inflate_.emplace();
  } else if (!encoding.empty() && !beast::iequals(encoding, "identity")) {
    return Error{
        fmt::format("its Content-Encoding is \"{}\", which was not asked for", excerpt(encoding, k_named_bytes_max))};
  }
  const auto length = parser_.content_length();
  if (limits_.body_bytes_max && length && *length > *limits_.body_bytes_max)
    return Error{fmt::format("its body has {} bytes; up to {} are read", *length, *limits_.body_bytes_max)};
  return Unit{};
}

Result<AnswerParser::Step> AnswerParser::hand_out(std::string_view piece) {
  body_bytes_ += piece.size();
  if (limits_.body_bytes_max && body_bytes_ > *limits_.body_bytes_max)
    return Error{fmt::format("its body has more than the {} bytes that are read{}", *limits_.body_bytes_max,
                             inflate_ ? ", unpacked" : "")};
  piece_view_ = piece;
  return Step::piece;
}

Result<AnswerParser::Step> AnswerParser::read_body(beast::flat_buffer& buffer) {
  for (;;) {
    if (inflate_ && (!packed_.empty() || inflate_->has_more())) {
      unpacked_.clear();
      if (Status good = inflate_->add(packed_, unpacked_, limits_.piece_bytes); !good.ok()) return good.error();
      if (!unpacked_.empty()) return hand_out(unpacked_);
      continue;
    }
    if (parser_.is_done()) {
      if (inflate_ && !inflate_->complete() && packed_bytes_ > 0) return Error{"its gzip stream is cut off"};
      return Step::end;
    }
    // Beast insists on it with what it may have of a first chunk that is the last.
    const bool may_begin = !parser_.chunked() || has_chunk_ || buffer.size() >= k_least_chunked_bytes;
    if (!may_begin && !source_ended_) return Step::more;
    if (!may_begin) return wrong(http::error::partial_message);
    auto& body = parser_.get().body();
    body.data = room_.data();
    body.size = room_.size();
    body.more = true;
    const std::size_t before = buffer.size();
    error_code error = parse_step(buffer, parser_, Until::piece);
    const std::size_t taken = before - buffer.size(), got = room_.size() - body.size;
    if (parser_.chunked() && taken > 0) {
      // One step takes a line with what stands before it, or data: never both.
      has_chunk_ = true;
      chunk_excess_ += taken - got;
      chunk_excess_ -= std::min(chunk_excess_, got == 0 ? k_chunk_line_bytes_free : 2 * got);
      if (chunk_excess_ > k_chunk_excess_bytes_max) return Error{"there is too much around its chunks"};
    }
    packed_bytes_ += got;
    if (error == http::error::need_buffer) error = {};
    if (error == http::error::need_more) {
      if (parser_.chunked() && chunk_excess_ + buffer.size() > k_chunk_excess_bytes_max + k_chunk_line_bytes_free)
        return Error{"there is too much around its chunks"};
      if (!source_ended_) return Step::more;
      parser_.put_eof(error = {});
      if (error) return wrong(error);
      continue;
    }
    if (error) return wrong(error);
    if (limits_.body_bytes_max && packed_bytes_ > *limits_.body_bytes_max)
      return Error{fmt::format("its body has more than the {} bytes that are read", *limits_.body_bytes_max)};
    if (got == 0) continue;
    const std::string_view piece(room_.data(), got);
    if (!inflate_) return hand_out(piece);
    packed_ = piece;
  }
}

}  // namespace berth::net
