// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace berth {

/// A text that is kept for long and read seldom: deflated, and shared by copies. One word and one block; immutable; any
/// thread.
class PackedText {
 public:
  PackedText() noexcept = default;
  explicit PackedText(std::string_view text);
  PackedText(const PackedText& other) noexcept;
  PackedText(PackedText&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  PackedText& operator=(PackedText other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~PackedText();

  bool empty() const noexcept { return block_ == nullptr; }
  std::string text() const;
  std::size_t text_bytes() const noexcept;
  /// Writes text() to `out`. Requires: room for text_bytes().
  void unpack(char* out) const;
  /// What it takes in memory, about.
  std::size_t packed_bytes() const noexcept;
  friend bool operator==(const PackedText& a, const PackedText& b) noexcept;  // the same text

 private:
  struct Block;
  Block* block_ = nullptr;  // null: empty
};

}  // namespace berth
