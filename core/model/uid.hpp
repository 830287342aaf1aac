// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <spdlog/fmt/fmt.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace berth::model {

/// metadata.uid of a pod: any text, and 16 bytes without a heap block for those that API servers give out (a UUID in
/// lower case, with the variant bits of RFC 9562).
/// Threads: as an int. Copies of any other text are copies of the text.
class Uid {
 public:
  Uid() noexcept = default;
  Uid(std::string_view text);
  Uid(const std::string& text) : Uid(std::string_view(text)) {}
  Uid(const char* text) : Uid(std::string_view(text)) {}
  Uid(const Uid& other);
  Uid(Uid&& other) noexcept : first_(std::exchange(other.first_, 0)), second_(std::exchange(other.second_, 0)) {}
  Uid& operator=(Uid other) noexcept {
    std::swap(first_, other.first_);
    std::swap(second_, other.second_);
    return *this;
  }
  ~Uid() {
    if (is_text()) delete other_text();
  }

  bool empty() const noexcept { return first_ == 0 && second_ == 0; }
  /// Exactly what it was made of.
  std::string text() const;
  operator std::string() const { return text(); }
  std::uint64_t hash() const noexcept;

  friend bool operator==(const Uid& a, const Uid& b) noexcept {
    if (a.first_ == b.first_ && a.second_ == b.second_) return true;
    return a.is_text() && b.is_text() && *a.other_text() == *b.other_text();
  }
  friend bool operator==(const Uid& a, std::string_view b) { return a == Uid(b); }
  friend bool operator==(const Uid& a, const std::string& b) { return a == Uid(b); }
  friend bool operator==(const Uid& a, const char* b) { return a == Uid(b); }

 private:
  // A UUID's second half starts with the bits 10; where it does not, the first word is a text of ours, or nothing.
  bool is_uuid() const noexcept { return second_ >> 62 == 2; }
  bool is_text() const noexcept { return !is_uuid() && first_ != 0; }
  const std::string* other_text() const noexcept { return reinterpret_cast<const std::string*>(first_); }

  std::uint64_t first_ = 0, second_ = 0;
};

}  // namespace berth::model

template <>
struct std::hash<berth::model::Uid> {
  std::size_t operator()(const berth::model::Uid& uid) const noexcept { return uid.hash(); }
};

template <>
struct fmt::formatter<berth::model::Uid> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(const berth::model::Uid& uid, Context& context) const {
    return fmt::formatter<std::string_view>::format(uid.text(), context);
  }
};
