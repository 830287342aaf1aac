// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::loader {

/// One entry of a PT_NOTE segment.
struct ElfNote {
  std::string_view owner;  // without the NUL
  std::uint32_t type = 0;
  std::span<const std::byte> descriptor;
};

/// "libc.so.6 must have GLIBC_2.34".
struct ElfVersionNeed {
  std::string_view library;
  std::string_view version;
};

/// Why bytes are no 64-bit ELF file that can be read on.
struct ElfDefect {
  enum class Kind : std::uint8_t { not_elf, wrong_class, truncated, malformed };
  Kind kind = Kind::not_elf;
  std::string sentence;  // "segment 2 ends at byte 16640, the file has 9000"
  // What the header says, when that much could be read: a file of another machine need not make sense beyond it.
  bool header_read = false;
  std::uint16_t type = 0;
  std::uint16_t machine = 0;
  bool big_endian = false;
};

/// What an ELF64 shared object says about itself, read without mapping it and without trusting any number in it.
///
/// Reads both byte orders and every machine, so that a file for another architecture can be described; whether it suits
/// this host is for ElfPolicy (plugin_file.hpp). Every offset is checked against the file, every list is bounded by a
/// constant below, so that hostile files cost bounded time. Lifetime: views point into the bytes that were given.
class ElfFile {
 public:
  static constexpr std::size_t k_needed_max = 256;
  static constexpr std::size_t k_notes_max = 1024;
  static constexpr std::size_t k_version_needs_max = 1024;
  static constexpr std::size_t k_symbols_max = 65'536;
  static constexpr std::size_t k_name_bytes_max = 1024;

  /// The file, or the first defect that makes the rest unreadable.
  static std::optional<ElfFile> read(std::span<const std::byte> bytes, ElfDefect& defect);

  std::uint16_t type = 0;     // ET_DYN for a shared object
  std::uint16_t machine = 0;  // EM_*
  bool big_endian = false;
  bool has_interpreter = false;
  bool executable_stack = false;  // asked for, or not said, which means the same
  bool stack_flag_absent = false;
  bool text_relocations = false;
  bool writable_code = false;  // some segment is writable and executable
  bool static_tls = false;
  std::string_view soname;
  std::optional<std::string_view> runpath;  // DT_RUNPATH, else DT_RPATH
  std::optional<std::string_view> rpath;    // DT_RPATH of a file that has DT_RUNPATH too
  std::vector<std::string_view> needed;     // DT_NEEDED
  /// Other libraries that the file would load without needing them: "DT_AUXILIARY libx.so".
  std::vector<std::string> other_loads;
  /// Why the dynamic linker would see something else than is said here, one sentence each. Empty: both see the same.
  std::vector<std::string> differing_views;
  std::vector<ElfVersionNeed> version_needs;
  std::vector<ElfNote> notes;
  std::vector<std::string_view> exported;  // defined dynamic symbols that others can see
  std::size_t exported_count = 0;          // all of them, also beyond k_symbols_max
  std::string build_id;                    // lower-case hex; empty without one
  std::uint32_t x86_isa_needed = 0;        // GNU_PROPERTY_X86_ISA_1_* bits
};

/// "x86_64", "aarch64", "machine 4711".
std::string machine_name(std::uint16_t machine);

}  // namespace berth::loader
