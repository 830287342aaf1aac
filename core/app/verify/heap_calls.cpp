// SPDX-License-Identifier: Apache-2.0
#include "app/verify/heap_calls.hpp"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <string_view>

namespace berth::app {
namespace {

#if defined(__x86_64__)
constexpr bool k_slots_are_known = true;
constexpr std::uint32_t k_jump_slot = R_X86_64_JUMP_SLOT, k_data_slot = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr bool k_slots_are_known = true;
constexpr std::uint32_t k_jump_slot = R_AARCH64_JUMP_SLOT, k_data_slot = R_AARCH64_GLOB_DAT;
#else
constexpr bool k_slots_are_known = false;
constexpr std::uint32_t k_jump_slot = 0, k_data_slot = 0;
#endif

// --- what is counted

constexpr std::size_t k_owners_max = 64, k_points = 32;

struct Cell {
  std::atomic<std::uint64_t> allocations{0}, bytes{0};
};
struct Row {
  std::atomic<const observe::CrumbOwner*> owner{nullptr};
  std::array<Cell, k_points> points;
};
constinit std::array<Row, k_owners_max> g_rows;

void count(std::size_t bytes) noexcept {
  const observe::CrumbOwner* const owner = observe::t_breadcrumb.owner.load(std::memory_order_relaxed);
  if (owner == nullptr) return;
  const auto point = static_cast<std::size_t>(observe::t_breadcrumb.point.load(std::memory_order_relaxed));
  if (point >= k_points) return;
  for (Row& row : g_rows) {
    const observe::CrumbOwner* known = row.owner.load(std::memory_order_relaxed);
    if (known == nullptr && row.owner.compare_exchange_strong(known, owner, std::memory_order_relaxed)) known = owner;
    if (known != owner) continue;
    row.points[point].allocations.fetch_add(1, std::memory_order_relaxed);
    row.points[point].bytes.fetch_add(bytes, std::memory_order_relaxed);
    return;
  }
}

// --- what counts: as the function of that name. glibc's own names have slots of their own, which stay as they are.

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t number, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

void* counted_malloc(std::size_t size) {
  count(size);
  return __libc_malloc(size);
}
void* counted_calloc(std::size_t number, std::size_t size) {
  count(number * size);
  return __libc_calloc(number, size);
}
void* counted_realloc(void* block, std::size_t size) {
  count(size);
  return __libc_realloc(block, size);
}
void* counted_reallocarray(void* block, std::size_t number, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(number, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return counted_realloc(block, bytes);
}
void* counted_memalign(std::size_t alignment, std::size_t size) {
  count(size);
  return __libc_memalign(alignment, size);
}
int counted_posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  if (alignment % sizeof(void*) != 0 || !std::has_single_bit(alignment)) return EINVAL;
  const int before = errno;
  void* const taken = counted_memalign(alignment, size);
  errno = before;
  if (taken == nullptr) return ENOMEM;
  *block = taken;
  return 0;
}

template <class Function>
ElfW(Addr) address(Function* function) noexcept {
  return reinterpret_cast<ElfW(Addr)>(function);
}

/// 0: not one of them.
ElfW(Addr) counted_instead_of(std::string_view name) noexcept {
  if (name == "malloc") return address(&counted_malloc);
  if (name == "calloc") return address(&counted_calloc);
  if (name == "realloc") return address(&counted_realloc);
  if (name == "reallocarray") return address(&counted_reallocarray);
  if (name == "memalign" || name == "aligned_alloc") return address(&counted_memalign);  // one, in glibc 2.36
  if (name == "posix_memalign") return address(&counted_posix_memalign);
  return 0;
}

// --- the slots of a mapped library

struct Slots {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * calls = nullptr;
  std::size_t call_count = 0;
  const ElfW(Rela) * data = nullptr;
  std::size_t data_count = 0;
};

Slots slots_of(const dl_phdr_info& library) {
  Slots slots;
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    if (library.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    // The dynamic linker has made addresses of these, but not on every machine.
    const auto at = [&](ElfW(Addr) value) { return value < library.dlpi_addr ? library.dlpi_addr + value : value; };
    for (auto* entry = reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + library.dlpi_phdr[i].p_vaddr);
         entry->d_tag != DT_NULL; ++entry) {
      const ElfW(Addr) value = entry->d_un.d_ptr;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          slots.symbols = reinterpret_cast<const ElfW(Sym)*>(at(value));
          break;
        case DT_STRTAB:
          slots.names = reinterpret_cast<const char*>(at(value));
          break;
        case DT_JMPREL:
          slots.calls = reinterpret_cast<const ElfW(Rela)*>(at(value));
          break;
        case DT_PLTRELSZ:
          slots.call_count = value / sizeof(ElfW(Rela));
          break;
        case DT_RELA:
          slots.data = reinterpret_cast<const ElfW(Rela)*>(at(value));
          break;
        case DT_RELASZ:
          slots.data_count = value / sizeof(ElfW(Rela));
          break;
        default:
          break;
      }
    }
  }
  if (slots.calls == nullptr) slots.call_count = 0;
  if (slots.data == nullptr) slots.data_count = 0;
  if (slots.symbols == nullptr || slots.names == nullptr) slots.call_count = slots.data_count = 0;
  return slots;
}

/// Whether the dynamic linker made the slot read-only when it was filled.
bool is_read_only(const dl_phdr_info& library, ElfW(Addr) slot) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = library.dlpi_phdr[i];
    const ElfW(Addr) begin = library.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_RELRO && slot >= begin && slot < begin + part.p_memsz) return true;
  }
  return false;
}

/// 0, or why not.
int point_slot_at(const dl_phdr_info& library, ElfW(Addr) slot, ElfW(Addr) function) {
  const auto page_bytes = static_cast<ElfW(Addr)>(::sysconf(_SC_PAGESIZE));
  void* const page = reinterpret_cast<void*>(slot & ~(page_bytes - 1));
  const bool was_read_only = is_read_only(library, slot);
  if (was_read_only && ::mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return errno;
  std::memcpy(reinterpret_cast<void*>(slot), &function, sizeof function);
  if (was_read_only && ::mprotect(page, page_bytes, PROT_READ) != 0) return errno;
  return 0;
}

int point_slots(const dl_phdr_info& library, const ElfW(Rela) * first, std::size_t many, const Slots& slots) {
  for (const ElfW(Rela)* each = first; each != first + many; ++each) {
    const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(each->r_info));
    if (type != k_jump_slot && type != k_data_slot) continue;
    const ElfW(Addr) counted = counted_instead_of(slots.names + slots.symbols[ELF64_R_SYM(each->r_info)].st_name);
    if (counted == 0) continue;
    if (const int problem = point_slot_at(library, library.dlpi_addr + each->r_offset, counted); problem != 0)
      return problem;
  }
  return 0;
}

/// For dl_iterate_phdr(). What the kernel maps has no slots, and the dynamic linker is let alone.
int take_library(dl_phdr_info* library, std::size_t, void* problem) {
  const std::string_view name(library->dlpi_name == nullptr ? "" : library->dlpi_name);
  if (name.find("linux-vdso") != name.npos || name.find("/ld-linux") != name.npos) return 0;
  const Slots slots = slots_of(*library);
  int failed = point_slots(*library, slots.calls, slots.call_count, slots);
  if (failed == 0) failed = point_slots(*library, slots.data, slots.data_count, slots);
  *static_cast<int*>(problem) = failed;
  return failed;
}

}  // namespace

Status count_heap_calls() {
#ifdef BERTH_SANITIZED
  return Error{"allocations are not counted under a sanitizer"};
#endif
  if (!k_slots_are_known) return Error{"allocations are not counted on this architecture"};
  int problem = 0;
  ::dl_iterate_phdr(&take_library, &problem);
  if (problem != 0) return Error{std::string("allocations cannot be counted: ") + std::strerror(problem)};
  for (Row& row : g_rows) {
    row.owner = nullptr;
    for (Cell& cell : row.points) cell.allocations = cell.bytes = 0;
  }
  return Unit{};
}

std::vector<HeapCalls> heap_calls() {
  std::map<std::pair<std::string, std::string>, HeapCalls> by_name;  // several instances of a plugin together
  for (const Row& row : g_rows) {
    const observe::CrumbOwner* const owner = row.owner.load();
    if (owner == nullptr || owner->plugin == nullptr) continue;
    for (std::size_t point = 0; point < k_points; ++point) {
      if (row.points[point].allocations == 0) continue;
      const char* const name = observe::point_name(static_cast<observe::Point>(point));
      HeapCalls& calls = by_name[{owner->plugin, name}];
      calls.plugin = owner->plugin;
      calls.point = name;
      calls.allocations += row.points[point].allocations;
      calls.bytes += row.points[point].bytes;
    }
  }
  std::vector<HeapCalls> all;
  for (auto& [name, calls] : by_name) all.push_back(std::move(calls));
  return all;
}

}  // namespace berth::app
