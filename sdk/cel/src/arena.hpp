// SPDX-License-Identifier: Apache-2.0
/// Memory for what one evaluation (or one program) makes: handed out piece by piece, given back all at once.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

namespace berth::cel {

/// Owner of all its pieces. Not for several threads at once. Nothing is allocated before the first piece is asked for.
class Arena {
 public:
  explicit Arena(std::size_t bytes_max, std::size_t chunk_bytes = 16 * 1024)
      : bytes_max_(bytes_max), chunk_bytes_(chunk_bytes) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Null when the budget does not suffice; exhausted() stays true then until reset().
  void* allocate(std::size_t bytes) {
    bytes = (bytes + 15) & ~std::size_t{15};
    if (bytes > bytes_max_ - used_) return exhausted_ = true, nullptr;
    used_ += bytes;
    if (bytes > left_) grow(bytes);
    void* piece = next_;
    next_ += bytes;
    left_ -= bytes;
    return piece;
  }

  /// `count` objects, value-initialised; null as above.
  template <class T>
  T* make_array(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count > bytes_max_ / sizeof(T)) return exhausted_ = true, nullptr;
    auto* first = static_cast<T*>(allocate(std::max<std::size_t>(count, 1) * sizeof(T)));
    if (first != nullptr) std::uninitialized_value_construct_n(first, count);
    return first;
  }

  template <class T>
  T* make(const T& value) {
    static_assert(std::is_trivially_destructible_v<T>);
    void* place = allocate(sizeof(T));
    return place == nullptr ? nullptr : new (place) T(value);
  }

  /// A copy that lives as long as the arena's other pieces; empty when the budget does not suffice.
  std::string_view copy(std::string_view text) {
    auto* place = static_cast<char*>(allocate(text.size()));
    if (place == nullptr) return {};
    if (!text.empty()) std::memcpy(place, text.data(), text.size());
    return {place, text.size()};
  }

  bool exhausted() const { return exhausted_; }
  std::size_t used() const { return used_; }
  /// What it has of the heap, which is what was asked for in whole chunks.
  std::size_t held() const { return held_; }

  /// Takes all pieces back and keeps the first chunk for the next use.
  void reset() {
    if (chunks_.size() > 1) chunks_.resize(1);
    held_ = chunks_.empty() ? 0 : chunk_bytes_;
    next_ = chunks_.empty() ? nullptr : chunks_.front().get();
    left_ = chunks_.empty() ? 0 : chunk_bytes_;
    used_ = 0;
    exhausted_ = false;
  }

 private:
  void grow(std::size_t bytes) {
    // The first chunk has the usual size, so that reset() knows how much is left in it.
    const std::size_t size = std::max(bytes, chunk_bytes_);
    if (chunks_.empty() && size > chunk_bytes_) {
      chunks_.push_back(std::make_unique_for_overwrite<char[]>(chunk_bytes_));
      held_ += chunk_bytes_;
    }
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    held_ += size;
    next_ = chunks_.back().get();
    left_ = size;
  }

  std::vector<std::unique_ptr<char[]>> chunks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
  std::size_t used_ = 0;
  std::size_t held_ = 0;
  std::size_t bytes_max_;
  std::size_t chunk_bytes_;
  bool exhausted_ = false;
};

}  // namespace berth::cel
