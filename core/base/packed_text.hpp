// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace berth {

/// A text that is kept for long and read seldom: deflated, and shared by copies. Immutable; any thread.
class PackedText {
 public:
  PackedText() = default;
  explicit PackedText(std::string_view text);

  bool empty() const noexcept { return packed_ == nullptr; }
  std::string text() const;
  /// What it takes in memory, about.
  std::size_t packed_bytes() const noexcept { return packed_ == nullptr ? 0 : packed_->size(); }

 private:
  std::shared_ptr<const std::string> packed_;  // null: empty
  std::size_t text_bytes_ = 0;
};

}  // namespace berth
