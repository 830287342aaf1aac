// SPDX-License-Identifier: Apache-2.0
/// JSON as text: what berth::Json reads, written again, and members of objects replaced. For policies that write API objects.
///
/// Threads: any. Errors: std::bad_alloc only. What is written is as valid as what is given: texts are escaped, JSON is not checked.
/// Source:  RFC 8259; no spaces, members in the order of the object.
#pragma once
#include <berth/json.hpp>

namespace berth {
inline namespace sdk {

/// Appends a string with its quotes. Escaped are quotes, backslashes and control characters; UTF-8 goes through as it
/// is.
inline void append_json_text(std::string& out, std::string_view text) {
  constexpr const char* k_hex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += k_hex[static_cast<unsigned char>(c) >> 4];
      out += k_hex[c & 15];
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

/// Appends a value. Numbers as they were written, repeated members all of them, so that nothing is lost by reading
/// and writing.
inline void append_json(std::string& out, const Json& value) {
  switch (value.type()) {
    case Json::Type::null:
      out += "null";
      return;
    case Json::Type::boolean:
      out += value.boolean("") ? "true" : "false";
      return;
    case Json::Type::number:
      out += value.number_text();
      return;
    case Json::Type::string:
      append_json_text(out, value.string(""));
      return;
    case Json::Type::array: {
      out += '[';
      bool is_first = true;
      for (const Json& item : value.items()) {
        if (!is_first) out += ',';
        is_first = false;
        append_json(out, item);
      }
      out += ']';
      return;
    }
    case Json::Type::object:
      break;
  }
  out += '{';
  bool is_first = true;
  for (const auto& [key, member] : value.members()) {
    if (!is_first) out += ',';
    is_first = false;
    append_json_text(out, key);
    out += ':';
    append_json(out, member);
  }
  out += '}';
}

/// The value as text.
inline std::string json_of(const Json& value) {
  std::string out;
  append_json(out, value);
  return out;
}

/// Writes one object or list, entry by entry, in the order of the calls: JsonWriter::object().text("kind",
/// "Pod").done(). What an object needs is not to be called of a list, and the other way round. Keys are not compared
/// with earlier ones.
class JsonWriter {
 public:
  static JsonWriter object() { return JsonWriter('{', '}'); }  ///< begins an object
  static JsonWriter list() { return JsonWriter('[', ']'); }    ///< begins a list

  /// Of an object. `value` is JSON, not checked.
  JsonWriter& json(std::string_view key, std::string_view value) {
    separate();
    append_json_text(out_, key);
    out_ += ':';
    out_ += value;
    return *this;
  }
  /// Of an object. `value` is text, escaped.
  JsonWriter& text(std::string_view key, std::string_view value) {
    separate();
    append_json_text(out_, key);
    out_ += ':';
    append_json_text(out_, value);
    return *this;
  }
  /// Of an object; left out when empty.
  JsonWriter& text_if_any(std::string_view key, std::string_view value) {
    return value.empty() ? *this : text(key, value);
  }
  // Of a list.
  // Of a list.
  /// `value` is JSON, not checked.
  JsonWriter& item(std::string_view value) {
    separate();
    out_ += value;
    return *this;
  }
  /// `value` is text, escaped.
  JsonWriter& text_item(std::string_view value) {
    separate();
    append_json_text(out_, value);
    return *this;
  }
  /// Nothing was written yet.
  bool empty() const noexcept { return out_.size() == 1; }
  /// The whole text. Once: the writer is spent.
  std::string done() { return std::move(out_ += close_); }

 private:
  // out_ has everything but the closing bracket.
  JsonWriter(char open, char close) : out_(1, open), close_(close) {}
  void separate() {
    if (out_.size() > 1) out_ += ',';
  }
  std::string out_;
  char close_;
};

/// The object with that member replaced, or added at the end; an empty `value`, which is no JSON, leaves it out. Of a
/// member that occurs twice the first is replaced and the others go.
inline std::string with_member(const Json& object, std::string_view key, std::string_view value) {
  JsonWriter out = JsonWriter::object();
  bool is_there = value.empty();
  for (const auto& [name, member] : object.members()) {
    if (name != key) {
      out.json(name, json_of(member));
    } else if (!is_there) {
      out.json(name, value);
      is_there = true;
    }
  }
  if (!is_there) out.json(key, value);
  return out.done();
}

}  // namespace sdk
}  // namespace berth
