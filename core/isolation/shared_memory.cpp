// SPDX-License-Identifier: Apache-2.0
#include "isolation/shared_memory.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace berth::isolation {
namespace {

constexpr int k_size_seals = F_SEAL_SHRINK | F_SEAL_GROW;

Error failed(const char* what) { return Error{fmt::format("{}: {}", what, std::strerror(errno))}; }

}  // namespace

OwnedDescriptor::~OwnedDescriptor() {
  if (number_ >= 0) ::close(number_);
}

SharedMemory::~SharedMemory() {
  if (at_ != nullptr) ::munmap(at_, bytes_);
}

Result<SharedMemory> SharedMemory::map(int descriptor, std::size_t bytes) {
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return failed("fstat");
  if (static_cast<std::size_t>(info.st_size) < bytes) return Error{"the shared memory is too small"};
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  if (seals >= 0 && (seals & k_size_seals) != k_size_seals)  // a confined process may not ask
    return Error{"the size of the shared memory is not sealed"};
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (at == MAP_FAILED) return failed("mmap");
  SharedMemory out;
  out.at_ = static_cast<std::byte*>(at);
  out.bytes_ = bytes;
  return out;
}

Result<OwnedDescriptor> sealed_memory(std::size_t bytes) {
  OwnedDescriptor memory(::memfd_create("berth-isolated-plugin", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return failed("memfd_create");
  if (::ftruncate(memory.number(), static_cast<off_t>(bytes)) != 0) return failed("ftruncate");
  if (::fcntl(memory.number(), F_ADD_SEALS, k_size_seals | F_SEAL_SEAL) != 0) return failed("sealing memory");
  return memory;
}

}  // namespace berth::isolation
