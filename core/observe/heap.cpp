// SPDX-License-Identifier: Apache-2.0
#include "observe/heap.hpp"

#include <malloc.h>

#include <cstdlib>

namespace berth::observe {
namespace {

constexpr int k_arenas_max = 2;
// Without it glibc raises its threshold to the size of the largest block that was freed, up to 32 MiB.
constexpr int k_mapped_from_bytes = 1 << 20;

}  // namespace

void keep_heap_small() noexcept {
  if (std::getenv("GLIBC_TUNABLES") != nullptr) return;
  if (std::getenv("MALLOC_ARENA_MAX") == nullptr) ::mallopt(M_ARENA_MAX, k_arenas_max);
  if (std::getenv("MALLOC_MMAP_THRESHOLD_") == nullptr) ::mallopt(M_MMAP_THRESHOLD, k_mapped_from_bytes);
}

HeapUse heap_use() noexcept {
  const struct mallinfo2 info = ::mallinfo2();
  return {info.uordblks + info.hblkhd, info.fordblks};
}

void give_back_unused_heap() noexcept { ::malloc_trim(0); }

}  // namespace berth::observe
