// SPDX-License-Identifier: Apache-2.0
#include "base/base64.hpp"

#include <array>
#include <cctype>
#include <cstdint>

namespace berth {
namespace {

constexpr std::string_view k_alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t k_no_digit = 64;

constexpr std::array<std::uint8_t, 256> digits() {
  std::array<std::uint8_t, 256> out{};
  for (std::uint8_t& digit : out) digit = k_no_digit;
  for (std::size_t i = 0; i < k_alphabet.size(); ++i)
    out[static_cast<unsigned char>(k_alphabet[i])] = static_cast<std::uint8_t>(i);
  return out;
}
constexpr std::array<std::uint8_t, 256> k_digits = digits();

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  std::size_t count = 0, padding = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isspace(byte) != 0) continue;
    if (c == '=') {
      ++padding;
    } else if (padding != 0 || k_digits[byte] == k_no_digit) {
      return std::nullopt;
    }
    bits = bits << 6 | (c == '=' ? 0U : k_digits[byte]);
    if (++count % 4 != 0) continue;
    for (const int shift : {16, 8, 0}) out += static_cast<char>(bits >> shift & 0xff);
  }
  if (count % 4 != 0 || padding > 2) return std::nullopt;
  out.erase(out.size() - padding);
  return out;
}

std::string encode_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (const int shift : {18, 12, 6, 0}) out += k_alphabet[bits >> shift & 63];
  }
  for (std::size_t missing = (3 - bytes.size() % 3) % 3, k = 0; k < missing; ++k) out[out.size() - 1 - k] = '=';
  return out;
}

}  // namespace berth
