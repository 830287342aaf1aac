// SPDX-License-Identifier: Apache-2.0
#include "text/cbor.hpp"

#include <cstdint>
#include <cstring>
#include <string_view>

namespace berth::text {
namespace {

enum class Major : std::uint8_t { positive = 0, negative = 1, bytes = 2, list = 4, map = 5 };
constexpr std::string_view k_self_described = "\xd9\xd9\xf7";
constexpr char k_cbor_false = '\xf4', k_cbor_true = '\xf5', k_cbor_null = '\xf6', k_cbor_double = '\xfb';

void append_big_endian(std::string& out, std::uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out += static_cast<char>(number >> shift & 0xff);
}

/// The head of an item: its kind and, in the fewest bytes, its number or length.
void append_head(std::string& out, Major major, std::uint64_t number) {
  const auto kind = static_cast<unsigned>(static_cast<unsigned>(major) << 5);
  if (number < 24) {
    out += static_cast<char>(kind | number);
  } else {
    const int log = number <= 0xff ? 0 : number <= 0xffff ? 1 : number <= 0xffffffff ? 2 : 3;
    out += static_cast<char>(kind | (24U + static_cast<unsigned>(log)));
    append_big_endian(out, number, 1 << log);
  }
}

void append_bytes(std::string& out, std::string_view bytes) {
  append_head(out, Major::bytes, bytes.size());
  out += bytes;
}

void append_number(std::string& out, const Value& value) {
  if (const auto integer = value.integer()) {
    if (*integer >= 0)
      append_head(out, Major::positive, static_cast<std::uint64_t>(*integer));
    else
      append_head(out, Major::negative, ~static_cast<std::uint64_t>(*integer));
    return;
  }
  const double real = value.real().value_or(0);
  std::uint64_t bits = 0;
  static_assert(sizeof bits == sizeof real);
  std::memcpy(&bits, &real, sizeof bits);
  out += k_cbor_double;
  append_big_endian(out, bits, 8);
}

/// As deep as the document, whose parser bounds that.
void append(std::string& out, const Value& value) {
  switch (value.kind()) {
    case Kind::null:
      out += k_cbor_null;
      break;
    case Kind::boolean:
      out += value.boolean() ? k_cbor_true : k_cbor_false;
      break;
    case Kind::number:
      append_number(out, value);
      break;
    case Kind::string:
      append_bytes(out, value.text());
      break;
    case Kind::sequence:
      append_head(out, Major::list, value.elements().size());
      for (const Value& element : value.elements()) append(out, element);
      break;
    case Kind::mapping:
      append_head(out, Major::map, value.members().size());
      for (const Member& member : value.members()) {
        append_bytes(out, member.key);
        append(out, member.value);
      }
      break;
  }
}

}  // namespace

std::string to_cbor(const Value& value) {
  std::string out(k_self_described);
  append(out, value);
  return out;
}

}  // namespace berth::text
