// SPDX-License-Identifier: Apache-2.0
/// The identity notes of a library's policies, computed at compile time from the same classes as the descriptor, so
/// that the two cannot disagree. Layout: abi/note.h.
///
/// Place:   BERTH_PLUGINS of plugin.hpp puts a Notes into the section .note.berth; the loader reads it before the file is mapped.
/// Threads: none: all of it is done by the compiler.
/// Units:   sizes are bytes; numbers have the byte order of the machine that the file is for.
#pragma once
#include <berth/describe.hpp>

namespace berth {
inline namespace sdk {
namespace detail {

/// Counts what a note takes.
struct NoteLength {
  std::size_t size = 0;
  /// What is counted is what is written: the same function feeds both sinks.
  constexpr void put(char) { ++size; }
};

/// Holds a note's text. A value, not a pointer: GCC's undefined-behaviour checks refuse address comparisons in
/// constants. k_bytes is what NoteLength has counted.
template <std::size_t k_bytes>
struct NoteText {
  char data[k_bytes] = {};
  std::size_t size = 0;
  constexpr void put(char c) { data[size++] = c; }
};

/// Appends one "key=value" string with its NUL. Both are NUL-terminated; the value may not hold another.
template <class Sink>
constexpr void put_entry(Sink& sink, const char* key, const char* value) {
  for (; *key != '\0'; ++key) sink.put(*key);
  sink.put('=');
  for (; *value != '\0'; ++value) sink.put(*value);
  sink.put('\0');
}

/// Keys as abi/note.h lists them, of one policy: repeated ones once per point, service, watch and rule. Returns the
/// sink.
template <class P, class Sink>
constexpr Sink write_note(Sink sink) {
  put_entry(sink, "plugin", P::identity.name);
  put_entry(sink, "version", P::identity.version);
  for (std::uint32_t i = 0; i < k_points<P>.count; ++i) put_entry(sink, "points", k_points<P>.items[i].id);
  if constexpr (Has_services<P>) {
    for (const char* service : P::services) put_entry(sink, "service", service);
  }
  if constexpr (Has_watches<P>) {
    for (const char* resource : P::watches) put_entry(sink, "watch", resource);
  }
  if constexpr (Has_rbac<P>) {
    for (const char* rule : P::rbac) put_entry(sink, "rbac", rule);
  }
  put_entry(sink, "sdk", BERTH_SDK_VERSION);
  put_entry(sink, "compiler", BERTH_NOTE_COMPILER);
  put_entry(sink, "isa", BERTH_NOTE_ISA);
  return sink;
}

/// One ELF note. The field order and the padding to 4 bytes are ELF's; owner is 6 bytes with its NUL, padded to 8.
template <class P>
struct Note {
  static constexpr std::size_t k_text_bytes = write_note<P>(NoteLength{}).size;
  std::uint32_t name_size = 6;                 ///< of owner, without padding
  std::uint32_t desc_size = 8 + k_text_bytes;  ///< four numbers and the text, without padding
  std::uint32_t type = BERTH_NOTE_TYPE;
  char owner[8] = BERTH_NOTE_OWNER;
  std::uint16_t major = BERTH_ABI_MAJOR;
  std::uint16_t minor_built = BERTH_ABI_MINOR;
  std::uint16_t minor_required = minor_required_of<P>();  ///< what the loader compares with its own
  std::uint16_t data_model = BERTH_DATA_MODEL;
  char text[(k_text_bytes + 3) & ~std::size_t{3}] = {};

  /// At compile time: static data, nothing runs when the file is loaded.
  constexpr Note() {
    const NoteText<k_text_bytes> written = write_note<P>(NoteText<k_text_bytes>{});
    for (std::size_t i = 0; i < k_text_bytes; ++i) text[i] = written.data[i];
  }
};

/// Several notes, one after the other, as the loader reads them: no gaps, each a multiple of 4 bytes.
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
