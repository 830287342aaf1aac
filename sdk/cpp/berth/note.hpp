// SPDX-License-Identifier: Apache-2.0
/// The identity notes of a library's policies, computed at compile time from the same classes as the descriptor, so
/// that the two cannot disagree. Layout: abi/note.h.
#pragma once
#include <berth/describe.hpp>

namespace berth {
inline namespace sdk {
namespace detail {

/// Counts, or writes when there is room, "key=value" strings with their NULs.
struct NoteWriter {
  char* out = nullptr;
  std::size_t size = 0;
  constexpr void put(char c) {
    if (out != nullptr) out[size] = c;
    ++size;
  }
  constexpr void entry(const char* key, const char* value) {
    for (; *key != '\0'; ++key) put(*key);
    put('=');
    for (; *value != '\0'; ++value) put(*value);
    put('\0');
  }
};

template <class P>
constexpr std::size_t write_note(char* out) {
  NoteWriter writer{out, 0};
  writer.entry("plugin", P::identity.name);
  writer.entry("version", P::identity.version);
  for (std::uint32_t i = 0; i < k_points<P>.count; ++i) writer.entry("points", k_points<P>.items[i].id);
  if constexpr (Has_services<P>) {
    for (const char* service : P::services) writer.entry("service", service);
  }
  if constexpr (Has_watches<P>) {
    for (const char* resource : P::watches) writer.entry("watch", resource);
  }
  if constexpr (Has_rbac<P>) {
    for (const char* rule : P::rbac) writer.entry("rbac", rule);
  }
  writer.entry("sdk", BERTH_SDK_VERSION);
  writer.entry("compiler", BERTH_NOTE_COMPILER);
  writer.entry("isa", BERTH_NOTE_ISA);
  return writer.size;
}

template <class P>
struct Note {
  static constexpr std::size_t k_text_bytes = write_note<P>(nullptr);
  std::uint32_t name_size = 6;
  std::uint32_t desc_size = 8 + k_text_bytes;
  std::uint32_t type = BERTH_NOTE_TYPE;
  char owner[8] = BERTH_NOTE_OWNER;
  std::uint16_t major = BERTH_ABI_MAJOR;
  std::uint16_t minor_built = BERTH_ABI_MINOR;
  std::uint16_t minor_required = BERTH_ABI_MINOR;
  std::uint16_t data_model = BERTH_DATA_MODEL;
  char text[(k_text_bytes + 3) & ~std::size_t{3}] = {};

  constexpr Note() { write_note<P>(text); }
};

/// Several notes, one after the other.
template <class First, class... Rest>
struct Notes {
  Note<First> first;
  Notes<Rest...> rest;
};
template <class Last>
struct Notes<Last> {
  Note<Last> first;
};

}  // namespace detail
}  // namespace sdk
}  // namespace berth
