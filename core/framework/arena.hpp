// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

namespace berth::framework {

/// Memory that is handed out by moving a pointer and given back all at once. Keeps its chunks, so that after the first
/// few cycles nothing is allocated. Chunks grow, since there is an arena for each binding that is under way, and most need
/// little. Threads: one at a time.
class Arena {
 public:
  /// Zeroed. align: a power of two, at most 64.
  void* allocate(std::size_t bytes, std::size_t align) {
    for (;;) {
      if (chunk_ < chunks_.size()) {
        Chunk& chunk = chunks_[chunk_];
        const std::size_t start = (used_ + align - 1) & ~(align - 1);
        if (start + bytes <= chunk.size) {
          used_ = start + bytes;
          void* const p = chunk.memory.get() + start;
          std::memset(p, 0, bytes);
          return p;
        }
        ++chunk_;
        used_ = 0;
        continue;
      }
      const std::size_t size = std::max<std::size_t>(next_chunk_bytes(), bytes + 64);
      chunks_.push_back(
          {std::unique_ptr<std::byte[], Free>(static_cast<std::byte*>(::operator new[](size, std::align_val_t{64}))),
           size});
    }
  }
  template <typename T>
  T* array(std::size_t count) {
    return static_cast<T*>(allocate(count * sizeof(T), alignof(T)));
  }
  /// A copy of the text.
  std::string_view text(std::string_view text) {
    char* const out = array<char>(text.size());
    std::copy(text.begin(), text.end(), out);
    return {out, text.size()};
  }
  void reset() noexcept {
    chunk_ = 0;
    used_ = 0;
  }
  /// Gives the chunks back as well: nothing that was handed out may be used any more.
  void release() noexcept {
    reset();
    chunks_.clear();
  }
  /// What it keeps.
  std::size_t bytes() const noexcept {
    std::size_t sum = 0;
    for (const Chunk& chunk : chunks_) sum += chunk.size;
    return sum;
  }

 private:
  static constexpr std::size_t k_first_chunk_bytes = 4 * 1024, k_chunk_bytes_max = 64 * 1024;
  std::size_t next_chunk_bytes() const noexcept {
    return std::min(k_first_chunk_bytes << std::min<std::size_t>(chunks_.size(), 4), k_chunk_bytes_max);
  }
  struct Free {
    void operator()(std::byte* p) const noexcept { ::operator delete[](p, std::align_val_t{64}); }
  };
  struct Chunk {
    std::unique_ptr<std::byte[], Free> memory;
    std::size_t size;
  };
  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0;
  std::size_t used_ = 0;
};

}  // namespace berth::framework
