// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "base/utf8.hpp"
#include "text/builder.hpp"

namespace berth::text {
namespace {

/// A plain descent over RFC 8259 that stops at the first byte that does not fit. Runs only over refused texts, where a
/// good place and sentence matter more than speed.
class Diagnosis {
 public:
  explicit Diagnosis(std::string_view text) : text_(text) {}

  std::optional<Fault> run() {
    if (const std::size_t bad = find_invalid_utf8(text_); bad != std::string_view::npos)
      return Fault{position_at(text_, bad), "not UTF-8"};
    if (value(0)) {
      space();
      if (at_ < text_.size()) say(at_, "text after the end of the value");
    }
    return fault_;
  }

 private:
  bool say(std::size_t offset, std::string message) {
    if (!fault_) fault_ = Fault{position_at(text_, offset), std::move(message)};
    return false;
  }
  bool expected(std::string_view what) {
    if (at_ >= text_.size()) return say(at_, "ends where " + std::string(what) + " should stand");
    return say(at_, std::string(what) + " should stand here");
  }
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool value(int depth) {
    space();
    if (depth > k_max_depth) return say(at_, "nested deeper than " + std::to_string(k_max_depth) + " levels");
    if (at_ >= text_.size()) return expected("a value");
    if (text_[at_] == '{') return object(depth);
    if (text_[at_] == '[') return array(depth);
    if (text_[at_] == '"') return string();
    const std::size_t start = at_;
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n,:]}[{\"", at_), text_.size());
    const std::string_view word = text_.substr(start, end - start);
    at_ = end;
    if (word == "true" || word == "false" || word == "null" || is_json_number(word)) return true;
    at_ = start;
    return expected("a value");
  }

  bool object(int depth) {
    ++at_;
    if (take('}')) return true;
    do {
      space();
      if (at_ >= text_.size() || text_[at_] != '"') return expected("a key in double quotes");
      if (!string()) return false;
      if (!take(':')) return expected("':'");
      if (!value(depth + 1)) return false;
    } while (take(','));
    return take('}') || expected("',' or '}'");
  }

  bool array(int depth) {
    ++at_;
    if (take(']')) return true;
    do {
      if (!value(depth + 1)) return false;
    } while (take(','));
    return take(']') || expected("',' or ']'");
  }

  bool string() {
    const std::size_t start = at_++;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return say(at_, "control character in a string");
      if (text_[at_] == '\\' && !escape()) return say(at_, "unknown escape sequence in a string");
      ++at_;
    }
    if (at_ >= text_.size()) return say(start, "string without an end");
    ++at_;
    return true;
  }

  /// Leaves at_ on the last byte of the sequence.
  bool escape() {
    const char kind = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (kind != 'u') {
      if (std::string_view("\"\\/bfnrt").find(kind) == std::string_view::npos || kind == '\0') return false;
      ++at_;
      return true;
    }
    const std::optional<unsigned> first = hex4(at_ + 2);
    if (!first || (*first >= 0xdc00 && *first <= 0xdfff)) return false;
    if (*first >= 0xd800 && *first <= 0xdbff) {
      if (text_.substr(std::min(at_ + 6, text_.size()), 2) != "\\u") return false;
      const std::optional<unsigned> second = hex4(at_ + 8);
      if (!second || *second < 0xdc00 || *second > 0xdfff) return false;
      at_ += 6;
    }
    at_ += 5;
    return true;
  }

  std::optional<unsigned> hex4(std::size_t offset) const {
    if (offset + 4 > text_.size()) return std::nullopt;
    unsigned number = 0;
    for (std::size_t i = offset; i < offset + 4; ++i) {
      const char c = text_[i];
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return std::nullopt;
      number = number * 16 + static_cast<unsigned>(digit);
    }
    return number;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<Fault> fault_;
};

}  // namespace

std::optional<Fault> diagnose_json(std::string_view text) { return Diagnosis(text).run(); }

}  // namespace berth::text
