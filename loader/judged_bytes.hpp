// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace berth::loader {

/// An open file that closes itself. Move-only.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int fd) noexcept : fd_(fd) {}
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&& other) noexcept;
  ~OpenFile();
  int fd() const noexcept { return fd_; }

 private:
  int fd_ = -1;
};

/// The content of a file, copied into memory of the kernel that is sealed against every change: what is judged here is
/// what can be mapped later, whatever becomes of the file. Where the kernel has no such memory, the bytes are a plain
/// copy: good for judging, not for loading.
///
/// Move-only. Lifetime: bytes() as long as this object; the sealed file, once taken, as long as its owner.
class JudgedBytes {
 public:
  JudgedBytes() = default;
  JudgedBytes(const JudgedBytes&) = delete;
  JudgedBytes& operator=(const JudgedBytes&) = delete;
  ~JudgedBytes();

  enum class Keeping : std::uint8_t { sealed, plain };
  /// Copies `size` bytes of an open file. `name` is what the kernel calls the copy, as in /proc/PID/maps. Fails
  /// when the file ends before, or there is no memory.
  Status read(int fd, std::uint64_t size, std::string_view name, Keeping keeping);

  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// Why bytes() are not sealed; empty when they are.
  const std::string& not_sealed() const noexcept { return not_sealed_; }
  /// The sealed copy as a file; without one, no file. bytes() stay.
  OpenFile take_sealed() noexcept { return std::move(sealed_); }
  /// "/memfd:rack-spread.so (deleted)": what /proc/PID/maps shows for the copy.
  static std::string mapped_name(std::string_view name);

 private:
  Status copy_and_seal(int fd, std::uint64_t size);
  Status read_plain(int fd, std::uint64_t size);

  OpenFile sealed_;
  void* mapping_ = nullptr;
  std::vector<std::byte> plain_;
  std::span<const std::byte> bytes_;
  std::string not_sealed_;
};

inline constexpr int k_seal_attempts = 5;
/// Seals a memory file against every change. It is busy while the kernel holds one of its pages, to move it or to look at it,
/// and while it has a writable mapping: then `between_attempts` is called and it is tried again, k_seal_attempts times in all.
/// Fails with what fcntl() said.
Status seal(int fd, const std::function<void()>& between_attempts);

/// "/proc/4711/fd/7": by this name a debugger opens what this process has open; "self" would be the debugger itself. As
/// "/proc/self/fd/7" where /proc numbers processes otherwise than this one does (another PID namespace).
std::string path_of_descriptor(int fd);

}  // namespace berth::loader
