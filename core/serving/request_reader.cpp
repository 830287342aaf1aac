// SPDX-License-Identifier: Apache-2.0
#include "serving/request_reader.hpp"

#include <algorithm>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <optional>

#include "base/url_text.hpp"
#include "base/utf8.hpp"

namespace berth::serving {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using beast::error_code;
using beast::string_view;

constexpr std::size_t k_read_bytes = 8 << 10;

std::string_view view(string_view text) { return {text.data(), text.size()}; }

/// Beast's parser, filling an HttpRequest. Beast bounds a line of the header, this the header.
class RequestParser final : public http::basic_parser<true> {
 public:
  RequestParser() {
    header_limit(RequestReader::k_header_bytes_max);
    body_limit(RequestReader::k_body_bytes_max);
    eager(true);
  }
  HttpRequest ask;
  unsigned int version = 11;
  std::size_t header_bytes = 0, field_bytes = 0;
  std::optional<RequestRefusal> refusal;

 private:
  void refuse(int status, const char* why, error_code& error) {
    refusal = {status, why};
    error = http::error::bad_field;
  }
  void count(std::size_t bytes, error_code& error) {
    header_bytes += bytes;
    if (header_bytes > RequestReader::k_header_bytes_max) refuse(431, "the header is too long", error);
  }
  void read_target(std::string_view target, error_code& error) {
    const std::size_t question = std::min(target.find('?'), target.size());
    ask.path = percent_decode(target.substr(0, question));
    for (std::size_t start = question + 1; start < target.size();) {
      if (ask.query.size() == RequestReader::k_query_max) return refuse(414, "the query has too many parts", error);
      const std::size_t end = std::min(target.find('&', start), target.size());
      const std::string_view pair = target.substr(start, end - start);
      const std::size_t equals = std::min(pair.find('='), pair.size());
      ask.query.emplace_back(percent_decode(pair.substr(0, equals)),
                             equals < pair.size() ? percent_decode(pair.substr(equals + 1)) : "");
      start = end + 1;
    }
  }

  void on_request_impl(http::verb, string_view method, string_view target, int number, error_code& error) override {
    version = static_cast<unsigned int>(number);
    count(method.size() + target.size(), error);
    if (error) return;
    ask.method = view(method);
    read_target(view(target), error);
  }
  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_field_impl(http::field field, string_view name, string_view value, error_code& error) override {
    if (field == http::field::transfer_encoding)
      return refuse(411, "transfer encodings are not taken: a body needs a Content-Length", error);
    if (ask.headers.size() == RequestReader::k_fields_max) return refuse(431, "the header has too many fields", error);
    count(name.size() + value.size() + 4, error);
    if (!error) ask.headers.emplace_back(lower_case(view(name)), view(value));
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view body, error_code&) override {
    ask.body += view(body);  // body_limit() holds for what Content-Length says
    return body.size();
  }
  // Never: a request with chunks is refused by its header.
  void on_chunk_header_impl(std::uint64_t, string_view, error_code& error) override {
    refuse(411, "chunks are not taken", error);
  }
  std::size_t on_chunk_body_impl(std::uint64_t, string_view, error_code& error) override {
    refuse(411, "chunks are not taken", error);
    return 0;
  }
  void on_finish_impl(error_code&) override {}
};

RequestRefusal refusal_of(const error_code& error) {
  if (error == http::error::header_limit) return {431, "the header is too long"};
  if (error == http::error::body_limit) return {413, "the body is too long"};
  if (error == http::error::bad_version) return {505, "HTTP/1.1 is what is spoken"};
  return {};
}

}  // namespace

struct RequestReader::State {
  beast::flat_buffer buffer{k_buffer_bytes_max};
  std::optional<RequestParser> parser;
  RequestRefusal refusal;
};

RequestReader::RequestReader() : state_(std::make_unique<State>()) { state_->parser.emplace(); }
RequestReader::~RequestReader() = default;

RequestReader::Progress RequestReader::begin() {
  state_->parser.emplace();
  if (state_->buffer.size() == 0) state_->buffer.shrink_to_fit();  // callers may be silent for long
  return parse();
}

std::span<char> RequestReader::room() {
  beast::flat_buffer& buffer = state_->buffer;
  const auto room = buffer.prepare(std::min(k_read_bytes, buffer.max_size() - buffer.size()));
  return {static_cast<char*>(room.data()), room.size()};
}

RequestReader::Progress RequestReader::take(std::size_t size) {
  state_->buffer.commit(size);
  return parse();
}

RequestReader::Progress RequestReader::parse() {
  beast::flat_buffer& buffer = state_->buffer;
  RequestParser& parser = *state_->parser;
  if (buffer.size() == 0) return Progress::needs_more;
  error_code error;
  buffer.consume(parser.put(buffer.data(), error));
  if (error && error != http::error::need_more) {
    state_->refusal = parser.refusal ? *parser.refusal : refusal_of(error);
    return Progress::refused;
  }
  if (parser.is_done()) return Progress::complete;
  if (buffer.size() < buffer.max_size()) return Progress::needs_more;
  state_->refusal = {431, "the header is too long"};
  return Progress::refused;
}

bool RequestReader::has_begun() const noexcept { return state_->buffer.size() != 0 || state_->parser->got_some(); }
const RequestRefusal& RequestReader::refusal() const noexcept { return state_->refusal; }
HttpRequest RequestReader::take_ask() { return std::move(state_->parser->ask); }
unsigned int RequestReader::version() const noexcept { return state_->parser->version; }
bool RequestReader::keeps_connection() const noexcept { return state_->parser->keep_alive(); }

std::size_t RequestReader::kept_bytes() const noexcept {
  const RequestParser& parser = *state_->parser;
  return state_->buffer.capacity() + parser.header_bytes + parser.ask.body.size();
}

}  // namespace berth::serving
