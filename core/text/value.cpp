// SPDX-License-Identifier: Apache-2.0
#include "text/value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "text/builder.hpp"

namespace berth::text {
namespace {

constexpr Value k_null{};

bool is_number_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// An integer written with a fraction or an exponent: "1e3", "2.0", "1.5e1".
std::optional<std::int64_t> exact_integer(std::string_view text) noexcept {
  const bool negative = !text.empty() && text.front() == '-';
  std::size_t i = negative || (!text.empty() && text.front() == '+') ? 1 : 0;
  std::uint64_t digits = 0;
  std::int64_t exponent = 0;
  std::int64_t zeros = 0;  // zeros not yet multiplied in, so that "1.000…0" stays small
  bool after_point = false;
  for (; i < text.size() && (is_number_digit(text[i]) || text[i] == '.'); ++i) {
    if (text[i] == '.') {
      after_point = true;
      continue;
    }
    if (after_point) --exponent;
    if (text[i] == '0') {
      ++zeros;
      continue;
    }
    for (std::int64_t k = 0; k <= zeros && digits != 0; ++k)
      if (__builtin_mul_overflow(digits, std::uint64_t{10}, &digits)) return std::nullopt;
    zeros = 0;
    if (__builtin_add_overflow(digits, static_cast<std::uint64_t>(text[i] - '0'), &digits)) return std::nullopt;
  }
  if (digits == 0) return 0;
  exponent += zeros;
  if (i < text.size()) {
    ++i;  // 'e' or 'E'
    if (i < text.size() && text[i] == '+') ++i;
    std::int64_t written = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), written);
    if (error != std::errc{} || end != text.data() + text.size() || std::abs(written) > 1'000'000) return std::nullopt;
    exponent += written;
  }
  if (exponent < 0) return std::nullopt;
  for (std::int64_t k = 0; k < exponent; ++k)
    if (__builtin_mul_overflow(digits, std::uint64_t{10}, &digits)) return std::nullopt;
  const std::uint64_t limit = std::uint64_t{1} << 63;
  if (negative) return digits <= limit ? std::optional(static_cast<std::int64_t>(~digits + 1)) : std::nullopt;
  return digits < limit ? std::optional(static_cast<std::int64_t>(digits)) : std::nullopt;
}

}  // namespace

std::string_view kind_name(Kind kind) noexcept {
  static constexpr std::string_view k_names[] = {"null", "a boolean", "a number", "a string", "a list", "an object"};
  return k_names[static_cast<std::size_t>(kind)];
}

std::optional<std::int64_t> Value::integer() const noexcept {
  if (kind_ != Kind::number) return std::nullopt;
  std::int64_t number = 0;
  const char* last = text_.data() + text_.size();
  const auto [end, error] = std::from_chars(text_.data(), last, number);
  if (end == last) return error == std::errc{} ? std::optional(number) : std::nullopt;
  return exact_integer(text_);
}

std::optional<double> Value::real() const noexcept {
  if (kind_ != Kind::number) return std::nullopt;
  double number = 0;
  const char* last = text_.data() + text_.size();
  const auto [end, error] = std::from_chars(text_.data(), last, number);
  if (error != std::errc{} || end != last || !std::isfinite(number)) return std::nullopt;
  return number;
}

const Value* Value::find_path(std::string_view path) const noexcept {
  const Value* value = this;
  while (value != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    value = value->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return value;
}

std::string_view Value::text_at(std::string_view path) const noexcept {
  const Value* const found = find_path(path);
  return found != nullptr && found->is_string() ? found->text() : std::string_view();
}

bool is_json_number(std::string_view text) noexcept {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t start = i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
    return i - start;
  };
  if (i < text.size() && text[i] == '-') ++i;
  const std::size_t start = i;
  const std::size_t whole = digits();
  if (whole == 0 || (whole > 1 && text[start] == '0')) return false;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

Position position_at(std::string_view text, std::size_t offset) noexcept {
  const std::string_view before = text.substr(0, offset);
  const std::size_t newline = before.rfind('\n');
  const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
  return {static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n') + 1),
          static_cast<std::uint32_t>(before.size() - start + 1)};
}

Document::Document() : root_(&k_null) {}
Document::Document(Document&& other) noexcept
    : arena_(std::move(other.arena_)), root_(std::exchange(other.root_, &k_null)), file_(std::move(other.file_)) {}
Document& Document::operator=(Document&& other) noexcept {
  arena_ = std::move(other.arena_);
  root_ = std::exchange(other.root_, &k_null);
  file_ = std::move(other.file_);
  return *this;
}
Document::~Document() = default;

std::string_view Builder::keep(std::string_view text) {
  if (text.empty()) return {};
  char* memory = static_cast<char*>(arena_->memory.allocate(text.size(), 1));
  std::memcpy(memory, text.data(), text.size());
  return {memory, text.size()};
}

Value Builder::scalar(Kind kind, Position position, std::string_view text) {
  Value value;
  value.kind_ = kind;
  value.position_ = position;
  value.text_ = text;
  return value;
}

namespace {
template <typename T>
const T* keep_all(std::pmr::monotonic_buffer_resource& memory, std::span<const T> all) {
  if (all.empty()) return nullptr;
  T* copy = static_cast<T*>(memory.allocate(all.size_bytes(), alignof(T)));
  std::uninitialized_copy(all.begin(), all.end(), copy);
  return copy;
}
}  // namespace

Value Builder::sequence(Position position, std::span<const Value> elements) {
  Value value;
  value.kind_ = Kind::sequence;
  value.position_ = position;
  value.count_ = static_cast<std::uint32_t>(elements.size());
  value.children_ = keep_all(arena_->memory, elements);
  return value;
}

Value Builder::mapping(Position position, std::span<const Member> members) {
  Value value;
  value.kind_ = Kind::mapping;
  value.position_ = position;
  value.count_ = static_cast<std::uint32_t>(members.size());
  value.children_ = keep_all(arena_->memory, members);
  return value;
}

Document Builder::finish(Value root, std::string file) {
  Document document;
  document.root_ = keep_all(arena_->memory, std::span<const Value>(&root, 1));
  document.arena_ = std::move(arena_);
  document.file_ = std::move(file);
  return document;
}

}  // namespace berth::text
