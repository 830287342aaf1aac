// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

/// The C library's heap as this process uses it. Where another allocator takes malloc's place, all of this is without
/// effect.
/// Source: mallopt(3), mallinfo(3), malloc_trim(3).
namespace berth::observe {

/// Sets what keeps the heap of a process that runs for months as small as what it holds: few arenas, since memory that
/// one thread freed is of no use to threads of another arena; and large blocks mapped apart, which go back as they are
/// freed.
/// Where the environment sets it (MALLOC_ARENA_MAX, MALLOC_MMAP_THRESHOLD_, GLIBC_TUNABLES), that holds.
/// Requires: no other thread runs.
void keep_heap_small() noexcept;

struct HeapUse {
  std::size_t in_use_bytes = 0;  // of blocks that were allocated and not freed, with what malloc adds to each
  std::size_t free_bytes = 0;    // of the rest of the heap; whether it is resident is not known
};
/// Takes some milliseconds with a large heap. Threads: any.
HeapUse heap_use() noexcept;

/// Gives pages of the heap that nothing uses back to the system; allocations of other threads wait for some
/// milliseconds.
/// Threads: any.
void give_back_unused_heap() noexcept;

}  // namespace berth::observe
