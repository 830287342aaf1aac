// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace berth::isolation {

/// Numbers and texts one after another in a buffer. What does not fit is left out, and is_full() says so.
class PackedWriter {
 public:
  explicit PackedWriter(std::span<std::byte> room) noexcept : room_(room) {}
  template <typename T>
  void number(T value) noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes(&value, sizeof value);
  }
  void text(std::string_view text) noexcept {
    number(static_cast<std::uint32_t>(text.size()));
    bytes(text.data(), text.size());
  }
  void bytes(const void* from, std::size_t count) noexcept {
    if (full_ || count > room_.size() - at_) {
      full_ = true;
      return;
    }
    if (count != 0) std::memcpy(room_.data() + at_, from, count);
    at_ += count;
  }
  bool is_full() const noexcept { return full_; }
  std::size_t size() const noexcept { return at_; }

 private:
  std::span<std::byte> room_;
  std::size_t at_ = 0;
  bool full_ = false;
};

/// Reads what may be anything: past the end, and after a length that is too large, all numbers are 0 and all texts empty,
/// and ok() is false. Requires: no process changes the bytes meanwhile.
class PackedReader {
 public:
  explicit PackedReader(std::span<const std::byte> from) noexcept : from_(from) {}
  template <typename T>
  T number() noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (!has(sizeof value)) return value;
    std::memcpy(&value, from_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string_view text() noexcept {
    const auto count = number<std::uint32_t>();
    if (!has(count)) return {};
    const std::string_view out(reinterpret_cast<const char*>(from_.data() + at_), count);
    at_ += count;
    return out;
  }
  bool ok() const noexcept { return ok_; }
  bool at_end() const noexcept { return at_ == from_.size(); }

 private:
  bool has(std::size_t count) noexcept {
    ok_ = ok_ && count <= from_.size() - at_;
    return ok_;
  }
  std::span<const std::byte> from_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace berth::isolation
