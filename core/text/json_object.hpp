// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <string>
#include <string_view>

#include "text/json_writer.hpp"

namespace berth::text {

/// Writes one JSON object, member by member, in the order of the calls. It is whole when done() is called, and may then be
/// a member of another, which copies it. For bodies of requests and other small values.
class JsonObject {
 public:
  JsonObject() { out_.begin_object(); }
  JsonObject& text(std::string_view key, std::string_view value) { return out_.key(key).text(value), *this; }
  JsonObject& number(std::string_view key, std::integral auto value) { return out_.key(key).number(value), *this; }
  /// `value` is JSON already.
  JsonObject& json(std::string_view key, std::string_view value) { return out_.key(key).raw(value), *this; }
  bool empty() const noexcept { return out_.size() == 1; }
  std::string done() { return out_.end_object().take(); }

 private:
  JsonWriter out_;
};

/// A list; append(out, one) writes an element.
template <typename List, typename Append>
std::string list_json(const List& list, Append&& append) {
  std::string out = "[";
  for (const auto& one : list) {
    if (out.size() > 1) out += ',';
    append(out, one);
  }
  return std::move(out += ']');
}
/// A list of strings.
template <typename Texts>
std::string list_json(const Texts& texts) {
  return list_json(texts, [](std::string& out, std::string_view text) { append_json_string(out, text); });
}

}  // namespace berth::text
