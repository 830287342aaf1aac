// SPDX-License-Identifier: Apache-2.0
#include "loader/judged_bytes.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

namespace berth::loader {
namespace {

// Of Linux 6.3 and newer; absent from older headers.
constexpr unsigned k_noexec_seal = 0x0008u;
constexpr unsigned k_exec = 0x0010u;
constexpr std::size_t k_name_bytes_max = 200;
constexpr std::size_t k_chunk_bytes = std::size_t{1} << 20;

std::string error_text(int error) { return std::generic_category().message(error); }

/// What may stand in a line of /proc/PID/maps.
std::string plain_name(std::string_view name) {
  std::string out(name.substr(0, k_name_bytes_max));
  for (char& c : out) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
                       c == '-' || c == '_' || c == '+';
    if (!plain) c = '_';
  }
  return out;
}

int make_memory_file(const std::string& name) {
  constexpr unsigned k_sealable = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int fd = ::memfd_create(name.c_str(), k_sealable | k_exec);
  if (fd < 0 && errno == EINVAL) fd = ::memfd_create(name.c_str(), k_sealable);  // before Linux 6.3
  // vm.memfd_noexec=2 allows no memory that can be exec()ed; mapping a library is something else.
  if (fd < 0 && errno == EACCES) fd = ::memfd_create(name.c_str(), k_sealable | k_noexec_seal);
  return fd;
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

/// Reads into all of `into`. Fails when the file ends before.
Status read_at(int fd, std::uint64_t offset, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return Error{"could not be read to its end: " + (got < 0 ? error_text(errno) : std::string("it became shorter"))};
    into = into.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return Unit{};
}

}  // namespace

OpenFile::OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
OpenFile::~OpenFile() {
  if (fd_ >= 0) ::close(fd_);
}

JudgedBytes::~JudgedBytes() {
  if (mapping_ != nullptr) ::munmap(mapping_, bytes_.size());
}

Status JudgedBytes::read(int fd, std::uint64_t size, std::string_view name, Keeping keeping) {
  if (keeping == Keeping::plain) {
    not_sealed_ = "it was not asked for";
    return read_plain(fd, size);
  }
  sealed_ = OpenFile(make_memory_file(plain_name(name)));
  if (sealed_.fd() < 0) {
    not_sealed_ = "memfd_create: " + error_text(errno);
  } else {
    if (Status copied = copy_and_seal(fd, size); !copied.ok() || not_sealed_.empty()) return copied;
    sealed_ = OpenFile();
  }
  return read_plain(fd, size);
}

/// Fails when the file cannot be read. What the kernel cannot do is left in not_sealed_.
Status JudgedBytes::copy_and_seal(int fd, std::uint64_t size) {
  std::vector<std::byte> chunk(std::min<std::size_t>(k_chunk_bytes, static_cast<std::size_t>(size)));
  for (std::uint64_t done = 0; done < size; done += chunk.size()) {
    chunk.resize(std::min<std::size_t>(chunk.size(), static_cast<std::size_t>(size - done)));
    if (Status read = read_at(fd, done, chunk); !read.ok()) return read;
    if (!write_all(sealed_.fd(), chunk)) {
      not_sealed_ = "writing the copy: " + error_text(errno);
      return Unit{};
    }
  }
  const Status sealed = seal(sealed_.fd(), [] {});  // the kernel waits for such pages itself, tens of milliseconds
  if (!sealed.ok()) {
    not_sealed_ = "sealing the copy: " + sealed.error().message;
    return Unit{};
  }
  if (::access(path_of_descriptor(sealed_.fd()).c_str(), R_OK) != 0) {
    not_sealed_ = path_of_descriptor(sealed_.fd()) + ": " + error_text(errno);
    return Unit{};
  }
  void* const mapping = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, sealed_.fd(), 0);
  if (mapping == MAP_FAILED) {
    not_sealed_ = "mapping the copy: " + error_text(errno);
    return Unit{};
  }
  mapping_ = mapping;
  bytes_ = {static_cast<const std::byte*>(mapping), static_cast<std::size_t>(size)};
  return Unit{};
}

Status JudgedBytes::read_plain(int fd, std::uint64_t size) {
  try {
    plain_.resize(static_cast<std::size_t>(size));
  } catch (const std::bad_alloc&) {
    return Error{fmt::format("there is no memory for its {} bytes", size)};
  }
  if (Status read = read_at(fd, 0, plain_); !read.ok()) return read;
  bytes_ = plain_;
  return Unit{};
}

std::string JudgedBytes::mapped_name(std::string_view name) { return "/memfd:" + plain_name(name) + " (deleted)"; }

Status seal(int fd, const std::function<void()>& between_attempts) {
  constexpr int k_seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  for (int attempt = 1; ::fcntl(fd, F_ADD_SEALS, k_seals) != 0; ++attempt) {
    if (errno != EBUSY || attempt == k_seal_attempts) return Error{error_text(errno)};
    between_attempts();
  }
  // Looked at again, since the judgement rests on it.
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0) return Error{error_text(errno)};
  if ((seals & k_seals) != k_seals) return Error{"the kernel took no seals"};
  return Unit{};
}

std::string path_of_descriptor(int fd) {
  std::string numbered = fmt::format("/proc/{}/fd/{}", ::getpid(), fd);
  struct stat there {};
  struct stat here {};
  const bool is_same = ::stat(numbered.c_str(), &there) == 0 && ::fstat(fd, &here) == 0 &&
                       there.st_dev == here.st_dev && there.st_ino == here.st_ino;
  return is_same ? numbered : fmt::format("/proc/self/fd/{}", fd);
}

}  // namespace berth::loader
