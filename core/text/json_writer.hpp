// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "text/parse.hpp"

namespace berth::text {

/// Writes compact JSON in the order of the calls. The caller closes each object and list that it opens; JsonObject cannot
/// be left open. One buffer, and no part of it is copied into another; where it would have megabytes, see give_to().
class JsonWriter {
 public:
  JsonWriter& key(std::string_view name) {
    separate();
    append_json_string(out_, name);
    out_ += ':';
    after_key_ = true;
    return *this;
  }
  JsonWriter& text(std::string_view value) {
    separate();
    append_json_string(out_, value);
    return *this;
  }
  /// A list of texts.
  JsonWriter& texts(std::span<const std::string> values) {
    begin_list();
    for (const std::string& value : values) text(value);
    return end_list();
  }
  template <std::integral Integer>
  JsonWriter& number(Integer value) {
    return raw(std::to_string(value));
  }
  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }
  /// A value that is JSON already.
  JsonWriter& raw(std::string_view value) {
    separate();
    out_ += value;
    return *this;
  }
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_list() { return open('['); }
  JsonWriter& end_list() { return close(']'); }
  std::size_t size() const noexcept { return out_.size(); }
  std::string take() { return std::move(out_); }
  /// Gives what was written so far to the stream, but for the byte that what follows depends on.
  void give_to(std::ostream& stream) {
    if (out_.empty()) return;
    stream.write(out_.data(), static_cast<std::streamsize>(out_.size() - 1));
    out_.erase(0, out_.size() - 1);
  }

 private:
  void separate() {
    if (!after_key_ && !out_.empty() && out_.back() != '{' && out_.back() != '[') out_ += ',';
    after_key_ = false;
  }
  JsonWriter& open(char bracket) {
    separate();
    out_ += bracket;
    return *this;
  }
  JsonWriter& close(char bracket) {
    out_ += bracket;
    return *this;
  }

  std::string out_;
  bool after_key_ = false;
};

}  // namespace berth::text
