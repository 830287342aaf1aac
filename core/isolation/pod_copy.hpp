// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "berth/plugin.h"

namespace berth::isolation {

/// Copies pods into memory that another process has elsewhere, as that process will see them: with its addresses.
///
/// Lists that stand at `trap`, which cannot be read (a pod with traps for what was not asked for), stay where they are: at an
/// address that the other process cannot read either.
class PodCopy {
 public:
  /// `room` is at `there` in the other process.
  PodCopy(std::span<std::byte> room, std::uint64_t there, std::span<const std::byte> trap) noexcept
      : room_(room), there_(there), trap_(trap) {}

  /// Where the other process has the copy; 0: there is no room for the pod.
  std::uint64_t add(const berth_pod_v1& pod);

  /// Room for an array, for the caller to fill; null where there is none.
  template <typename T>
  T* array(std::size_t count) {
    return static_cast<T*>(allocate(count * sizeof(T), alignof(T)));
  }
  /// Where the other process has what is at `here`, in the room.
  std::uint64_t there(const void* here) const noexcept {
    return there_ + static_cast<std::uint64_t>(static_cast<const std::byte*>(here) - room_.data());
  }

 private:
  void* allocate(std::size_t bytes, std::size_t align);
  template <typename T>
  void list(const T*& at, std::size_t count);
  template <typename T, typename Mend>
  void list(const T*& at, std::size_t count, Mend mend);
  void text(berth_str& text);
  void requirements(const berth_requirement_v1*& at, std::uint32_t count);
  void selector(berth_selector_v1& selector);
  void node_terms(const berth_node_term_v1*& at, std::uint32_t count);
  void affinity_terms(const berth_affinity_term_v1*& at, std::uint32_t count);
  void texts(const berth_str*& at, std::uint32_t count);
  void amounts(const berth_container_amount_v1*& at, std::uint32_t count);

  std::span<std::byte> room_;
  std::uint64_t there_;
  std::span<const std::byte> trap_;
  std::size_t at_ = 0;
  bool is_full_ = false;
};

}  // namespace berth::isolation
