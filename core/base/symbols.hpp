// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>

namespace berth {

/// An interned string: equal symbols iff equal strings. 0 means "absent"; k_empty_symbol is the empty string.
/// The same numbers cross the plugin ABI as berth_id.
using Symbol = std::uint32_t;
inline constexpr Symbol k_no_symbol = 0;
inline constexpr Symbol k_empty_symbol = 1;

/// Turns strings into symbols so that nothing on a hot path compares text.
///
/// Lifetime: views returned by text() live as long as the table. Symbols are never reclaimed.
/// Threads:  synchronises itself; text() takes no lock.
class SymbolTable {
 public:
  SymbolTable();
  ~SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  Symbol intern(std::string_view text);
  /// The symbol of `text`, or 0 when nobody has interned it.
  Symbol find(std::string_view text) const;
  /// Requires: symbol came from this table, or is 0 (empty view).
  std::string_view text(Symbol symbol) const noexcept;
  std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }

 private:
  struct Index;
  static constexpr std::size_t k_chunk_bits = 12;
  static constexpr std::size_t k_chunk_size = std::size_t{1} << k_chunk_bits;
  static constexpr std::size_t k_chunk_count = 1 << 14;  // 67 million symbols: a bound, not a target

  mutable std::shared_mutex mutex_;  // guards index_ and growth
  std::unique_ptr<Index> index_;
  std::unique_ptr<std::atomic<std::string_view*>[]> chunks_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace berth
