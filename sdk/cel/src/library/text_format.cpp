// SPDX-License-Identifier: Apache-2.0
/// `"…%d…".format([…])` (cel-go ext/formatting).
#include <cmath>
#include <cstdio>
#include <string>

#include "library/functions.hpp"

namespace berth::cel {
namespace {

constexpr std::size_t k_result_bytes_max = 8 * 1024 * 1024;
constexpr int k_precision_max = 1000;

class Formatter {
 public:
  explicit Formatter(const Call& call) : call_(call) {}

  Value run(std::string_view pattern, const Value& args) {
    std::uint32_t used = 0;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
      if (pattern[at] != '%') {
        text_ += pattern[at];
        continue;
      }
      if (++at == pattern.size()) return wrong("unexpected end of string");
      if (pattern[at] == '%') {
        text_ += '%';
        continue;
      }
      int precision = 6;
      if (pattern[at] == '.') {
        precision = 0;
        while (++at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9')
          precision = std::min(precision * 10 + (pattern[at] - '0'), k_precision_max + 1);
        if (at == pattern.size()) return wrong("could not find end of precision specifier");
        if (precision > k_precision_max) return wrong("precision is too large");
      }
      if (used == args.size) return wrong("index " + std::to_string(used) + " out of range");
      if (const std::string why = append_clause(pattern[at], args.items[used++], precision); !why.empty())
        return wrong(why);
      if (text_.size() > k_result_bytes_max || !charge()) return wrong("result is too long");
    }
    return call_.text(text_);
  }

 private:
  Value wrong(const std::string& why) const { return call_.error("error during formatting: " + why); }

  /// For what was appended since the last time, whether it becomes a result or not.
  bool charge() {
    const std::size_t more = text_.size() - charged_;
    charged_ = text_.size();
    return call_.work.take(20 + more / 16);
  }

  static std::string given(std::string_view clause, std::string_view takes, const Value& value) {
    return std::string(clause) + " clause can only be used on " + std::string(takes) + ", was given " +
           std::string(type_name(value));
  }

  std::string append_clause(char clause, const Value& value, int precision) {
    switch (clause) {
      case 's':
        return append_plain(value, 0);
      case 'd':
        return append_decimal(value);
      case 'f':
      case 'e':
        return append_real(clause, value, precision);
      case 'b':
        return append_digits("binary", value, 1, false);
      case 'o':
        return append_digits("octal", value, 3, false);
      case 'x':
      case 'X':
        return append_hex(value, clause == 'X');
      default:
        return std::string("could not parse formatting clause: unrecognized formatting clause \"") + clause + '"';
    }
  }

  std::string append_plain(const Value& value, int depth) {
    if (depth > 200 || text_.size() > k_result_bytes_max || !charge()) return "result is too long";
    if (value.is(Kind::list)) {
      text_ += '[';
      for (std::uint32_t i = 0; i < value.size; ++i) {
        if (i != 0) text_ += ", ";
        if (std::string why = append_plain(value.items[i], depth + 1); !why.empty()) return why;
      }
      text_ += ']';
      return {};
    }
    if (value.is(Kind::map)) {
      text_ += '{';
      for (std::uint32_t i = 0; i < value.map->size; ++i) {
        if (i != 0) text_ += ", ";
        if (std::string why = append_plain(value.map->entries[i].key, depth + 1); !why.empty()) return why;
        text_ += ": ";
        if (std::string why = append_plain(value.map->entries[i].value, depth + 1); !why.empty()) return why;
      }
      text_ += '}';
      return {};
    }
    const Value written = to_text(value, call_);
    if (written.is_error())
      return given("string", "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
                   value);
    text_ += written.text();
    return {};
  }

  std::string append_decimal(const Value& value) {
    if (value.is(Kind::integer))
      text_ += std::to_string(value.integer);
    else if (value.is(Kind::uinteger))
      text_ += std::to_string(value.uinteger);
    else
      return given("decimal", "integers", value);
    return {};
  }

  std::string append_real(char clause, const Value& value, int precision) {
    double real = value.real;
    if (value.is(Kind::integer))
      real = static_cast<double>(value.integer);
    else if (value.is(Kind::uinteger))
      real = static_cast<double>(value.uinteger);
    else if (!value.is(Kind::real))
      return given(clause == 'f' ? "fixed-point" : "scientific", "doubles", value);
    if (!std::isfinite(real)) {
      text_ += std::isnan(real) ? "NaN" : real < 0 ? "-Infinity" : "Infinity";
      return {};
    }
    if (!call_.work.take(100 + 2 * static_cast<std::uint64_t>(precision))) return "result is too long";
    char buffer[k_precision_max + 400];
    std::snprintf(buffer, sizeof buffer, clause == 'f' ? "%.*f" : "%.*e", precision, real);
    text_ += buffer;
    return {};
  }

  std::string append_digits(std::string_view name, const Value& value, unsigned bits, bool upper) {
    if (value.is(Kind::boolean) && bits == 1) {
      text_ += value.is_true() ? '1' : '0';
      return {};
    }
    if (!value.is(Kind::integer) && !value.is(Kind::uinteger))
      return given(name, bits == 1 ? "integers and bools" : "integers", value);
    const bool minus = value.is(Kind::integer) && value.integer < 0;
    std::uint64_t rest = minus ? 0 - value.uinteger : value.uinteger;
    std::string digits;
    do {
      digits.insert(digits.begin(), (upper ? "0123456789ABCDEF" : "0123456789abcdef")[rest & ((1u << bits) - 1)]);
      rest >>= bits;
    } while (rest != 0);
    text_ += (minus ? "-" : "") + digits;
    return {};
  }

  std::string append_hex(const Value& value, bool upper) {
    if (!value.is_text()) return append_digits("hex", value, 4, upper);
    for (const char c : value.text()) {
      const auto byte = static_cast<unsigned char>(c);
      const char* digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
      text_.append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
    return {};
  }

  const Call& call_;
  std::string text_;
  std::size_t charged_ = 0;
};

}  // namespace

Value format_text(std::string_view pattern, const Value& args, const Call& call) {
  return Formatter(call).run(pattern, args);
}

}  // namespace berth::cel
