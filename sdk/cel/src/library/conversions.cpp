// SPDX-License-Identifier: Apache-2.0
/// int(), uint(), double(), string(), bool(), bytes(), dyn(), type(), and size().
#include <charconv>
#include <cmath>
#include <limits>

#include "library/functions.hpp"
#include "values/network.hpp"
#include "values/times.hpp"
#include "values/utf8.hpp"

namespace berth::cel {
namespace {

Value conversion_error(const Call& call, std::string_view to) {
  return call.error("type conversion error from '" + std::string(type_name(call.args[0])) + "' to '" + std::string(to) +
                    '\'');
}

/// Go's ParseInt(s, 10, 64): a sign, digits, nothing else.
template <class T>
bool parse_whole(std::string_view text, T& whole) {
  if constexpr (std::is_signed_v<T>)
    if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), whole);
  return code == std::errc() && end == text.data() + text.size();
}

Value int_from_uint(const Call& call) {
  if (call.args[0].uinteger > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return of_error(k_overflow);
  return of_int(static_cast<std::int64_t>(call.args[0].uinteger));
}
Value int_from_double(const Call& call) {
  const double real = call.args[0].real;
  if (!(real > -9223372036854775808.0 && real < 9223372036854775808.0)) return of_error(k_overflow);
  return of_int(static_cast<std::int64_t>(real));
}
Value int_from_string(const Call& call) {
  std::int64_t whole = 0;
  return parse_whole(call.args[0].text(), whole) ? of_int(whole) : conversion_error(call, "int");
}
Value int_from_timestamp(const Call& call) { return of_int(call.args[0].integer); }
Value int_from_duration(const Call& call) { return of_int(call.args[0].integer); }

Value uint_from_int(const Call& call) {
  return call.args[0].integer < 0 ? of_error(k_unsigned_overflow)
                                  : of_uint(static_cast<std::uint64_t>(call.args[0].integer));
}
Value uint_from_double(const Call& call) {
  const double real = call.args[0].real;
  if (!(real >= 0 && real < 18446744073709551616.0)) return of_error(k_unsigned_overflow);
  return of_uint(static_cast<std::uint64_t>(real));
}
Value uint_from_string(const Call& call) {
  std::uint64_t whole = 0;
  return parse_whole(call.args[0].text(), whole) ? of_uint(whole) : conversion_error(call, "uint");
}

Value double_from_int(const Call& call) { return of_real(static_cast<double>(call.args[0].integer)); }
Value double_from_uint(const Call& call) { return of_real(static_cast<double>(call.args[0].uinteger)); }
Value double_from_string(const Call& call) {
  std::string_view text = call.args[0].text();
  if (!call.work.take(50 + 4 * std::uint64_t{text.size()})) return of_error(k_no_memory);
  const bool minus = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (text.empty() || text[0] == '-' || text[0] == '+') return conversion_error(call, "double");
  double real = 0;
  const bool hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  if (hex) text.remove_prefix(2);
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), real,
                                           hex ? std::chars_format::hex : std::chars_format::general);
  if (code != std::errc() || end != text.data() + text.size() || text.find('(') != std::string_view::npos)
    return conversion_error(call, "double");
  return of_real(minus ? -real : real);
}

Value bool_from_string(const Call& call) {
  const std::string_view text = call.args[0].text();
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"})
    if (text == yes) return of_bool(true);
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"})
    if (text == no) return of_bool(false);
  return conversion_error(call, "bool");
}

Value bytes_from_string(const Call& call) { return of_text(call.args[0].text(), Kind::bytes); }

Value string_from(const Call& call) { return to_text(call.args[0], call); }

Value type_of(const Call& call) { return of_text(type_name(call.args[0]), Kind::type); }

Value size_of(const Call& call) { return of_int(static_cast<std::int64_t>(length(call.args[0]))); }

/// As Go writes it with %g and the fewest digits that read back.
std::string text_of_double(double real) {
  if (std::isnan(real)) return "NaN";
  if (std::isinf(real)) return real < 0 ? "-Inf" : "+Inf";
  char scientific[64];
  const auto written = std::to_chars(scientific, scientific + sizeof scientific, real, std::chars_format::scientific);
  const std::string_view digits(scientific, static_cast<std::size_t>(written.ptr - scientific));
  const std::size_t e = digits.find('e');
  int exponent = 0;
  const std::size_t after = digits[e + 1] == '+' ? e + 2 : e + 1;
  std::from_chars(digits.data() + after, digits.data() + digits.size(), exponent);
  const int decimals = static_cast<int>(digits.substr(0, e).size()) - (real < 0 || std::signbit(real) ? 1 : 0);
  const int significant = decimals == 1 ? 1 : decimals - 1;
  if (exponent < -4 || exponent >= std::max(significant, 21)) return std::string(digits);
  char fixed[400];
  const auto end = std::to_chars(fixed, fixed + sizeof fixed, real, std::chars_format::fixed);
  return {fixed, end.ptr};
}

constexpr FunctionRow k_conversion_rows[] = {
    {"int", "(int) -> int", k_one, itself},
    {"int", "(uint) -> int", k_one, int_from_uint},
    {"int", "(double) -> int", k_one, int_from_double},
    {"int", "(string) -> int", k_one, int_from_string},
    {"int", "(google.protobuf.Timestamp) -> int", k_one, int_from_timestamp},
    {"int", "(google.protobuf.Duration) -> int", k_one, int_from_duration},
    {"uint", "(uint) -> uint", k_one, itself},
    {"uint", "(int) -> uint", k_one, uint_from_int},
    {"uint", "(double) -> uint", k_one, uint_from_double},
    {"uint", "(string) -> uint", k_one, uint_from_string},
    {"double", "(double) -> double", k_one, itself},
    {"double", "(int) -> double", k_one, double_from_int},
    {"double", "(uint) -> double", k_one, double_from_uint},
    {"double", "(string) -> double", k_one, double_from_string},
    {"bool", "(bool) -> bool", k_one, itself},
    {"bool", "(string) -> bool", k_one, bool_from_string},
    {"bytes", "(bytes) -> bytes", k_one, itself},
    {"bytes", "(string) -> bytes", k_traversal, bytes_from_string},
    {"string", "(string) -> string", k_one, itself},
    {"string", "(bool) -> string", k_one, string_from},
    {"string", "(bytes) -> string", k_traversal, string_from},
    {"string", "(double) -> string", k_one, string_from},
    {"string", "(google.protobuf.Duration) -> string", k_one, string_from},
    {"string", "(int) -> string", k_one, string_from},
    {"string", "(google.protobuf.Timestamp) -> string", k_one, string_from},
    {"string", "(uint) -> string", k_one, string_from},
    {"string", "(net.IP) -> string", k_one, string_from},
    {"string", "(net.CIDR) -> string", k_one, string_from},
    {"dyn", "(A) -> dyn", k_one, itself},
    {"type", "(A) -> type(A)", k_one, type_of},
    {"size", "(string) -> int", k_one, size_of},
    {"size", "string.() -> int", k_one, size_of},
    {"size", "(bytes) -> int", k_one, size_of},
    {"size", "bytes.() -> int", k_one, size_of},
    {"size", "(list(A)) -> int", k_one, size_of},
    {"size", "list(A).() -> int", k_one, size_of},
    {"size", "(map(A, B)) -> int", k_one, size_of},
    {"size", "map(A, B).() -> int", k_one, size_of},
};

}  // namespace

Value to_text(const Value& value, const Call& call) {
  switch (value.kind) {
    case Kind::string:
      return value;
    case Kind::type:
      return of_text(value.text());
    case Kind::null:
      return of_text("null");
    case Kind::boolean:
      return of_text(value.integer != 0 ? "true" : "false");
    case Kind::integer:
      return call.text(std::to_string(value.integer));
    case Kind::uinteger:
      return call.text(std::to_string(value.uinteger));
    case Kind::real:
      return call.text(text_of_double(value.real));
    case Kind::bytes:
      return is_utf8(value.text()) ? of_text(value.text())
                                   : of_error("invalid UTF-8 in bytes, cannot convert to string");
    case Kind::duration:
      return call.text(duration_text(value.integer));
    case Kind::timestamp:
      return call.text(timestamp_text(value.integer, value.size));
    case Kind::ip:
      return call.text(address_text(*value.address));
    case Kind::cidr:
      return call.text(address_text(*value.address) + '/' + std::to_string(value.size));
    default:
      return of_error(k_no_such_overload);
  }
}

std::span<const FunctionRow> conversion_functions() { return k_conversion_rows; }

}  // namespace berth::cel
