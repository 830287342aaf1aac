// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace berth::framework {

/// Stands in for a buffer that a plugin fills, with words past its end that it has no business with: where plugins are checked, one
/// that writes too far is told, and what lies behind the buffer stays whole. Only for checks: it allocates.
template <typename T>
class GuardedAnswer {
 public:
  /// Until give_back(), `buffer` points to a copy of its first `count` elements, in `padded` ones as the plugin may fill. A null
  /// buffer stays null. Requires: count <= padded.
  GuardedAnswer(T*& buffer, std::size_t count, std::size_t padded) : buffer_(buffer), owner_(buffer), count_(count) {
    if (owner_ == nullptr) return;
    copy_.resize(k_align / sizeof(T) + padded + k_guard);
    const auto misaligned = reinterpret_cast<std::uintptr_t>(copy_.data()) % k_align;
    answer_ = copy_.data() + (misaligned == 0 ? 0 : (k_align - misaligned) / sizeof(T));
    guard_ = answer_ + padded;
    std::copy_n(owner_, count_, answer_);
    std::memset(static_cast<void*>(guard_), k_pattern, k_guard * sizeof(T));
    buffer_ = answer_;
  }
  GuardedAnswer(const GuardedAnswer&) = delete;
  GuardedAnswer& operator=(const GuardedAnswer&) = delete;

  /// Hands the answer over. False: something was written past its end.
  bool give_back() {
    buffer_ = owner_;
    if (owner_ == nullptr) return true;
    std::copy_n(answer_, count_, owner_);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(guard_);
    return std::all_of(bytes, bytes + k_guard * sizeof(T), [](unsigned char byte) { return byte == k_pattern; });
  }

 private:
  static constexpr std::size_t k_align = 64, k_guard = 64;  // bytes; elements
  static constexpr unsigned char k_pattern = 0xc5;

  T*& buffer_;
  T* const owner_;
  const std::size_t count_;
  std::vector<T> copy_;
  T* answer_ = nullptr;
  T* guard_ = nullptr;
};

}  // namespace berth::framework
