// SPDX-License-Identifier: Apache-2.0
/// A small, bounds-checked JSON reader for args and projected fields. Not for hot calls: it builds a tree.
///
/// Limits: 64 levels. Of a key that occurs twice, [] finds the last value. Strings are UTF-8; \u escapes are decoded, a
/// lone surrogate becomes U+FFFD. Failure: JsonError (a BadArgs, so that a constructor may let it through).
/// Threads: any: a value. Ownership: a Json owns its text; references and views that it gives live as long as it does. One that
/// ends with the expression (`Json::parse(text).items()`) gives owning values instead: a loop over them is safe, and so is
/// keeping them, an element of such a list, or what is asked of the element. What stays the author's: a string_view of such a
/// text ends with the expression.
/// Source:  RFC 8259. The host has judged args as JSON before; fields of type BERTH_FIELD_JSON are canonical.
#pragma once
#include <berth/types.hpp>

#include <charconv>
#include <utility>
#include <vector>

namespace berth {
inline namespace sdk {

/// Text that is no JSON, with the byte at which that shows, or a value that is not what was asked for, with the name
/// it was given.
struct JsonError : BadArgs {
  using BadArgs::BadArgs;
};

/// A list that owns what it gives away: elements of one that stays are lent, those of one that ends with the expression are moved
/// out. T has a move constructor that does not throw.
template <class T>
class OwnedList {
 public:
  explicit OwnedList(std::vector<T> list) noexcept : list_(std::move(list)) {}

  std::size_t size() const noexcept { return list_.size(); }  ///< How many elements there are.
  bool empty() const noexcept { return list_.empty(); }       ///< Whether there is none.
  /// For loops, which keep the list until they end.
  auto begin() const& noexcept { return list_.begin(); }
  auto end() const& noexcept { return list_.end(); }
  auto begin() const&& = delete;
  auto end() const&& = delete;
  /// Requires: index < size().
  const T& operator[](std::size_t index) const& noexcept { return list_[index]; }
  T operator[](std::size_t index) && noexcept { return std::move(list_[index]); }
  T operator[](std::size_t index) const&& = delete;
  /// Requires: !empty().
  const T& front() const& noexcept { return list_.front(); }
  T front() && noexcept { return std::move(list_.front()); }
  T front() const&& = delete;
  const T& back() const& noexcept { return list_.back(); }
  T back() && noexcept { return std::move(list_.back()); }
  T back() const&& = delete;
  /// For those who want to change it.
  std::vector<T> take() && noexcept { return std::move(list_); }
  operator std::vector<T>() && noexcept { return std::move(list_); }

 private:
  std::vector<T> list_;
};

/// One value of any type. A default-constructed one is null.
class Json {
 public:
  /// What a value is, as JSON has it.
  enum class Type { null, boolean, number, string, array, object };
  using Members = std::vector<std::pair<std::string, Json>>;  ///< in the order of the text, repetitions included

  Json() = default;
  /// The whole text is one value, with spaces around it. Throws JsonError.
  static Json parse(std::string_view text);

  /// type() of the static null that [] answers with is null, too: contains() tells the two apart.
  Type type() const noexcept { return type_; }
  bool is_null() const noexcept { return type_ == Type::null; }
  bool is_object() const noexcept { return type_ == Type::object; }
  bool is_array() const noexcept { return type_ == Type::array; }
  bool is_string() const noexcept { return type_ == Type::string; }
  bool is_number() const noexcept { return type_ == Type::number; }
  bool is_bool() const noexcept { return type_ == Type::boolean; }

  /// The member, or a null value when this is no object or has no such member. The last of several; looks at each in
  /// turn.
  const Json& operator[](std::string_view key) const& noexcept {
    for (auto member = members_.rbegin(); member != members_.rend(); ++member)
      if (member->first == key) return member->second;
    return null_value();
  }
  Json operator[](std::string_view key) && noexcept {
    for (auto member = members_.rbegin(); member != members_.rend(); ++member)
      if (member->first == key) return std::move(member->second);
    return Json();
  }
  Json operator[](std::string_view key) const&& = delete;
  /// True for a member that is null.
  bool contains(std::string_view key) const noexcept { return &(*this)[key] != &null_value(); }
  /// Empty for anything but an array.
  const std::vector<Json>& items() const& noexcept { return items_; }
  OwnedList<Json> items() && noexcept { return OwnedList<Json>(std::move(items_)); }
  OwnedList<Json> items() const&& = delete;
  /// Empty for anything but an object.
  const Members& members() const& noexcept { return members_; }
  OwnedList<Members::value_type> members() && noexcept { return OwnedList<Members::value_type>(std::move(members_)); }
  OwnedList<Members::value_type> members() const&& = delete;

  // Typed reading. `what` names the value in the message of the JsonError that another type brings.
  /// Escapes are decoded.
  const std::string& string(std::string_view what) const& { return need(Type::string, what, "a string"), text_; }
  std::string string(std::string_view what) && { return need(Type::string, what, "a string"), std::move(text_); }
  std::string string(std::string_view what) const&& = delete;
  bool boolean(std::string_view what) const { return need(Type::boolean, what, "a boolean"), text_ == "true"; }
  /// Whole numbers without fraction and exponent, as written: 1e3 and 1.0 are refused, and so is what needs more than
  /// 64 bits.
  std::int64_t integer(std::string_view what) const {
    need(Type::number, what, "a number");
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc() || end != text_.data() + text_.size()) {
      throw JsonError(std::string(what) + ": must be an integer of 64 bits, is " + text_);
    }
    return value;
  }
  /// Of a number beyond what a double holds: 0.
  double number(std::string_view what) const {
    need(Type::number, what, "a number");
    double value = 0;
    std::from_chars(text_.data(), text_.data() + text_.size(), value);
    return value;
  }
  /// With a default for null or absent values. Another type is an error nevertheless.
  std::int64_t integer_or(std::string_view what, std::int64_t otherwise) const {
    return is_null() ? otherwise : integer(what);
  }
  bool boolean_or(std::string_view what, bool otherwise) const { return is_null() ? otherwise : boolean(what); }
  std::string string_or(std::string_view what, std::string_view otherwise) const {
    return is_null() ? std::string(otherwise) : string(what);
  }
  /// Elements of an array; empty when null. Throws JsonError for anything else.
  const std::vector<Json>& array(std::string_view what) const& {
    if (!is_null()) need(Type::array, what, "an array");
    return items_;
  }
  OwnedList<Json> array(std::string_view what) && {
    if (!is_null()) need(Type::array, what, "an array");
    return OwnedList<Json>(std::move(items_));
  }
  OwnedList<Json> array(std::string_view what) const&& = delete;
  /// This value, an object or null. Throws JsonError for anything else.
  const Json& object(std::string_view what) const& {
    if (!is_null()) need(Type::object, what, "an object");
    return *this;
  }
  Json object(std::string_view what) && {
    if (!is_null()) need(Type::object, what, "an object");
    return std::move(*this);
  }
  Json object(std::string_view what) const&& = delete;
  /// A number as it was written; empty for anything but a number.
  std::string_view number_text() const& noexcept {
    return type_ == Type::number ? std::string_view(text_) : std::string_view();
  }
  std::string number_text() && noexcept { return type_ == Type::number ? std::move(text_) : std::string(); }
  std::string number_text() const&& = delete;

 private:
  // Below: how text is read.
  class Reader;
  /// One for the process, for members that are not there.
  static const Json& null_value() noexcept {
    static const Json null;
    return null;
  }
  void need(Type type, std::string_view what, const char* name) const {
    if (type_ != type) throw JsonError(std::string(what) + ": must be " + name);
  }

  Type type_ = Type::null;
  std::string text_;  // string, number as written, "true" / "false"
  std::vector<Json> items_;
  Members members_;
};

/// Recursive descent over a borrowed text. fail() names the byte.
class Json::Reader {
 public:
  explicit Reader(std::string_view text) noexcept : text_(text) {}

  /// One value and nothing after it.
  Json document() {
    Json value = read_value(0);
    skip_space();
    if (at_ != text_.size()) fail("unexpected text after the value");
    return value;
  }

 private:
  static constexpr int k_max_depth = 64;

  [[noreturn]] void fail(const char* what) const {
    throw JsonError(std::string("invalid JSON at byte ") + std::to_string(at_) + ": " + what);
  }
  /// NUL at the end of the text, which is part of no value.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  void expect(char c) {
    skip_space();
    if (peek() != c) fail((std::string("expected '") + c + "'").c_str());
    ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (peek() != c) return false;
    return ++at_, true;
  }

  /// `depth` counts the arrays and objects around the value.
  Json read_value(int depth) {
    if (depth > k_max_depth) fail("nested too deeply");
    skip_space();
    switch (peek()) {
      case '{':
        return read_object(depth);
      case '[':
        return read_array(depth);
      case '"':
        return make(Type::string, read_string());
      case 't':
        return read_word("true", Type::boolean);
      case 'f':
        return read_word("false", Type::boolean);
      case 'n':
        return read_word("null", Type::null);
      default:
        return read_number();
    }
  }
  static Json make(Type type, std::string text) {
    Json value;
    value.type_ = type;
    value.text_ = std::move(text);
    return value;
  }
  /// true, false or null; what follows is judged by the caller.
  Json read_word(std::string_view word, Type type) {
    if (text_.substr(at_, word.size()) != word) fail("unknown word");
    at_ += word.size();
    return make(type, type == Type::null ? std::string() : std::string(word));
  }
  Json read_object(int depth) {
    Json value = make(Type::object, {});
    ++at_;
    if (accept('}')) return value;
    do {
      skip_space();
      if (peek() != '"') fail("expected a member name");
      std::string key = read_string();
      expect(':');
      Json member = read_value(depth + 1);
      value.members_.emplace_back(std::move(key), std::move(member));
    } while (accept(','));
    expect('}');
    return value;
  }
  Json read_array(int depth) {
    Json value = make(Type::array, {});
    ++at_;
    if (accept(']')) return value;
    do value.items_.push_back(read_value(depth + 1));
    while (accept(','));
    expect(']');
    return value;
  }
  std::size_t digits() {
    const std::size_t first = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ - first;
  }
  /// Checks the grammar and keeps the text: its meaning is asked for later.
  Json read_number() {
    const std::size_t first = at_;
    if (peek() == '-') ++at_;
    const bool zero = peek() == '0';
    const std::size_t whole = digits();
    if (whole == 0) fail("expected a value");
    if (zero && whole > 1) fail("leading zero");
    if (peek() == '.' && (++at_, digits() == 0)) fail("expected a digit");
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (digits() == 0) fail("expected a digit");
    }
    return make(Type::number, std::string(text_.substr(first, at_ - first)));
  }
  /// From the opening quote. UTF-8 is not checked; control characters are refused.
  std::string read_string() {
    std::string out;
    ++at_;
    for (;;) {
      if (at_ >= text_.size()) fail("unterminated string");
      const char c = text_[at_++];
      if (c == '"') return out;
      if (static_cast<unsigned char>(c) < 0x20) fail("control character in a string");
      if (c == '\\') {
        read_escape(out);
      } else {
        out.push_back(c);
      }
    }
  }
  /// Four digits.
  std::uint32_t read_hex() {
    if (text_.size() - at_ < 4) fail("short \\u escape");
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, value, 16);
    if (error != std::errc() || end != text_.data() + at_ + 4) fail("bad \\u escape");
    at_ += 4;
    return value;
  }
  /// After the backslash. Two surrogates in the right order are one character.
  void read_escape(std::string& out) {
    if (at_ >= text_.size()) fail("unterminated string");
    switch (const char c = text_[at_++]) {
      case '"':
      case '\\':
      case '/':
        out.push_back(c);
        return;
      case 'b':
        out.push_back('\b');
        return;
      case 'f':
        out.push_back('\f');
        return;
      case 'n':
        out.push_back('\n');
        return;
      case 'r':
        out.push_back('\r');
        return;
      case 't':
        out.push_back('\t');
        return;
      case 'u':
        break;
      default:
        fail("unknown escape");
    }
    std::uint32_t code = read_hex();
    if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_, 2) == "\\u") {
      const std::size_t back = at_;
      at_ += 2;
      const std::uint32_t low = read_hex();
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      } else {
        at_ = back;
      }
    }
    if (code >= 0xd800 && code < 0xe000) code = 0xfffd;
    append_utf8(out, code);
  }
  /// One to four bytes. Requires: code is no surrogate.
  static void append_utf8(std::string& out, std::uint32_t code) {
    if (code < 0x80) {
      out.push_back(static_cast<char>(code));
    } else if (code < 0x800) {
      out.push_back(static_cast<char>(0xc0 | code >> 6));
      out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
      out.push_back(static_cast<char>(0xe0 | code >> 12));
      out.push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
      out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
    } else {
      out.push_back(static_cast<char>(0xf0 | code >> 18));
      out.push_back(static_cast<char>(0x80 | (code >> 12 & 0x3f)));
      out.push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
      out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

inline Json Json::parse(std::string_view text) { return Reader(text).document(); }

}  // namespace sdk
}  // namespace berth
