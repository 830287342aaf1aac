// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <utility>

#include "base/result.hpp"

namespace berth::isolation {

/// A descriptor that is closed at the end.
class OwnedDescriptor {
 public:
  OwnedDescriptor() noexcept = default;
  explicit OwnedDescriptor(int number) noexcept : number_(number) {}
  OwnedDescriptor(OwnedDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~OwnedDescriptor();
  int number() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// Memory of a descriptor, mapped for reading and writing while this lives.
class SharedMemory {
 public:
  SharedMemory() noexcept = default;
  SharedMemory(SharedMemory&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~SharedMemory();
  /// Fails where there is less memory behind the descriptor, or its size may still change.
  static Result<SharedMemory> map(int descriptor, std::size_t bytes);
  std::byte* data() const noexcept { return at_; }
  std::size_t size() const noexcept { return bytes_; }

 private:
  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Memory of that size, which is sealed: no process can change it any more.
Result<OwnedDescriptor> sealed_memory(std::size_t bytes);

}  // namespace berth::isolation
