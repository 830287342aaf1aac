// SPDX-License-Identifier: Apache-2.0
#include "model/uid.hpp"

#include <functional>

namespace berth::model {
namespace {

constexpr std::size_t k_uuid_chars = 36;
constexpr char k_digits[] = "0123456789abcdef";

constexpr bool is_hyphen_place(std::size_t i) noexcept { return i == 8 || i == 13 || i == 18 || i == 23; }

constexpr int digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// The 128 bits of a UUID in lower case; false for any other text.
bool read_uuid(std::string_view text, std::uint64_t& first, std::uint64_t& second) noexcept {
  if (text.size() != k_uuid_chars) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_hyphen_place(i)) {
      if (text[i] != '-') return false;
      continue;
    }
    const int digit = digit_of(text[i]);
    if (digit < 0) return false;
    std::uint64_t& half = i < 18 ? first : second;
    half = half << 4 | static_cast<std::uint64_t>(digit);
  }
  return second >> 62 == 2;
}

}  // namespace

Uid::Uid(std::string_view text) {
  if (text.empty() || read_uuid(text, first_, second_)) return;
  first_ = reinterpret_cast<std::uint64_t>(new std::string(text));
  second_ = 0;
}

Uid::Uid(const Uid& other) : first_(other.first_), second_(other.second_) {
  if (other.is_text()) first_ = reinterpret_cast<std::uint64_t>(new std::string(*other.other_text()));
}

std::string Uid::text() const {
  if (is_text()) return *other_text();
  if (empty()) return {};
  std::string out(k_uuid_chars, '-');
  std::uint64_t halves[] = {first_, second_};
  for (std::size_t i = k_uuid_chars; i-- > 0;) {
    if (is_hyphen_place(i)) continue;
    std::uint64_t& half = halves[i < 18 ? 0 : 1];
    out[i] = k_digits[half & 15];
    half >>= 4;
  }
  return out;
}

std::uint64_t Uid::hash() const noexcept {
  if (is_text()) return std::hash<std::string>{}(*other_text());
  // Most bits of a UUID are drawn at random, but not all of them in all: every bit is made to count.
  std::uint64_t out = (first_ ^ (second_ << 32 | second_ >> 32)) * 0x9E3779B97F4A7C15ULL;
  out = (out ^ out >> 32 ^ second_) * 0xD6E8FEB86659FD93ULL;
  return out ^ out >> 32;
}

}  // namespace berth::model
