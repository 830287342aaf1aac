// SPDX-License-Identifier: Apache-2.0
#include "syntax/lexer.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "syntax/characters.hpp"
#include "values/utf8.hpp"

namespace berth::cel {
namespace {

constexpr std::string_view k_syntax_error = "Syntax error: token recognition error";
constexpr std::string_view k_bad_text = "unable to unescape string";

bool starts_name(char c) { return is_letter(c) || c == '_'; }

class Lexer {
 public:
  Lexer(std::string_view text, Arena& arena) : text_(text), arena_(arena) {}

  Tokens run() {
    Tokens result;
    for (;;) {
      skip_blanks();
      Token token;
      token.offset = static_cast<std::uint32_t>(at_);
      if (at_ < text_.size() && !read(token)) {
        result.error = {token.offset, error_.empty() ? k_syntax_error : error_};
        return result;
      }
      result.tokens.push_back(token);
      if (token.kind == TokenKind::end) return result;
    }
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        return;
      }
    }
  }

  bool read(Token& token) {
    if (const int prefix = text_prefix(); prefix >= 0) return read_text(token, prefix);
    const char c = peek();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return read_number(token);
    if (starts_name(c)) return read_identifier(token);
    static constexpr std::string_view k_long[] = {"==", "!=", "<=", ">=", "&&", "||"};
    std::size_t size = 0;
    for (const std::string_view candidate : k_long)
      if (text_.substr(at_, 2) == candidate) size = 2;
    if (size == 0 && std::string_view("<>[]{}().,-!?:+*/%").find(c) != std::string_view::npos) size = 1;
    if (size == 0) return false;
    token.kind = TokenKind::punctuation;
    token.text = text_.substr(at_, size);
    at_ += size;
    return true;
  }

  bool read_identifier(Token& token) {
    const std::size_t start = at_;
    while (starts_name(peek()) || is_digit(peek())) ++at_;
    token.text = text_.substr(start, at_ - start);
    token.kind = TokenKind::literal;
    if (token.text == "true" || token.text == "false")
      token.value = of_bool(token.text == "true");
    else if (token.text == "null")
      token.value = {};
    else
      token.kind = token.text == "in" ? TokenKind::punctuation : TokenKind::identifier;
    return true;
  }

  bool read_number(Token& token) {
    const std::size_t start = at_;
    if (peek() == '0' && peek(1) == 'x' && hex_digit(peek(2)) >= 0) {
      at_ += 2;
      while (hex_digit(peek()) >= 0) ++at_;
    } else {
      while (is_digit(peek())) ++at_;
      if (peek() == '.' && is_digit(peek(1))) {
        ++at_;
        while (is_digit(peek())) ++at_;
      }
      const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if ((peek() == 'e' || peek() == 'E') && is_digit(peek(1 + sign))) {
        at_ += 1 + sign;
        while (is_digit(peek())) ++at_;
      }
    }
    const bool whole = text_.substr(start, at_ - start).find('.') == std::string_view::npos;
    if (whole && (peek() == 'u' || peek() == 'U')) ++at_;
    token.kind = TokenKind::literal;
    token.is_number = true;
    token.text = text_.substr(start, at_ - start);
    token.value = parse_number(token.text, false);
    return true;
  }

  /// Characters before the quote, or −1 when no text literal starts here.
  int text_prefix() const {
    int size = 0;
    if (peek() == 'b' || peek() == 'B') ++size;
    if (peek(size) == 'r' || peek(size) == 'R') ++size;
    const char quote = peek(size);
    return quote == '"' || quote == '\'' ? size : -1;
  }

  bool read_text(Token& token, int prefix) {
    const std::size_t start = at_;
    const bool bytes = peek() == 'b' || peek() == 'B';
    const bool raw = prefix > 0 && (peek(prefix - 1) == 'r' || peek(prefix - 1) == 'R');
    at_ += prefix;
    const char quote = peek();
    const bool triple = peek(1) == quote && peek(2) == quote;
    at_ += triple ? 3 : 1;
    std::string content;
    for (;;) {
      if (at_ >= text_.size()) return false;
      const char c = text_[at_];
      if (c == quote && (!triple || (peek(1) == quote && peek(2) == quote))) break;
      if (!triple && (c == '\n' || c == '\r')) return false;
      if (c == '\\' && !raw) {
        if (!read_escape(bytes, content)) return false;
      } else {
        // A literal has one kind of line end, whatever the file had.
        if (c != '\r')
          content += c;
        else if (peek(1) != '\n')
          content += '\n';
        ++at_;
      }
    }
    at_ += triple ? 3 : 1;
    token.kind = TokenKind::literal;
    token.text = text_.substr(start, at_ - start);
    token.value = of_text(arena_.copy(content), bytes ? Kind::bytes : Kind::string);
    return true;
  }

  bool read_escape(bool bytes, std::string& content) {
    const char c = peek(1);
    at_ += 2;
    switch (c) {
      case 'a':
        return content += '\a', true;
      case 'b':
        return content += '\b', true;
      case 'f':
        return content += '\f', true;
      case 'n':
        return content += '\n', true;
      case 'r':
        return content += '\r', true;
      case 't':
        return content += '\t', true;
      case 'v':
        return content += '\v', true;
      case '\\':
      case '\'':
      case '"':
      case '?':
      case '`':
        return content += c, true;
      case 'x':
      case 'X':
        return read_code(2, 16, bytes, true, content);
      case 'u':
        return read_code(4, 16, bytes, false, content);
      case 'U':
        return read_code(8, 16, bytes, false, content);
      default:
        break;
    }
    if (c < '0' || c > '3') return false;
    --at_;
    return read_code(3, 8, bytes, true, content);
  }

  bool read_code(int digits, int base, bool bytes, bool may_be_byte, std::string& content) {
    std::uint32_t code = 0;
    for (int i = 0; i < digits; ++i) {
      const int digit = hex_digit(peek());
      if (digit < 0 || digit >= base) return false;
      code = code * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit);
      ++at_;
    }
    if (bytes) {
      if (!may_be_byte) return error_ = k_bad_text, false;
      return content += static_cast<char>(code), true;
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return error_ = k_bad_text, false;
    append_utf8(content, code);
    return true;
  }

  std::string_view text_;
  Arena& arena_;
  std::size_t at_ = 0;
  std::string_view error_;
};

}  // namespace

Value parse_number(std::string_view text, bool negative) {
  const bool is_unsigned = text.back() == 'u' || text.back() == 'U';
  if (is_unsigned) text.remove_suffix(1);
  const bool hex = text.size() > 1 && text[1] == 'x';
  if (!hex && text.find_first_of(".eE") != std::string_view::npos) {
    double real = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), real);
    // Too small is 0, too large is an error.
    if (code == std::errc::result_out_of_range) {
      real = std::strtod(std::string(text).c_str(), nullptr);
      if (std::isinf(real)) return of_error("invalid double literal");
    }
    return of_real(negative ? -real : real);
  }
  if (hex) text.remove_prefix(2);
  std::uint64_t magnitude = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), magnitude, hex ? 16 : 10);
  if (is_unsigned) return code == std::errc() && !negative ? of_uint(magnitude) : of_error("invalid uint literal");
  constexpr auto k_max = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (code != std::errc() || magnitude > k_max + (negative ? 1 : 0)) return of_error("invalid int literal");
  return of_int(static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude));
}

Tokens tokenize(std::string_view text, Arena& arena) { return Lexer(text, arena).run(); }

}  // namespace berth::cel
