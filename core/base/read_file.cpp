// SPDX-License-Identifier: Apache-2.0
#include "base/read_file.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace berth {
namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const noexcept { return descriptor_; }

 private:
  const int descriptor_;
};

Error last_error() { return Error{std::strerror(errno)}; }

}  // namespace

Result<std::string> read_file_bytes(const std::string& path, const FileLimits& limits) {
  const OpenFile file(path);
  struct stat about {};
  if (file.get() < 0 || ::fstat(file.get(), &about) != 0) return last_error();
  if (S_ISDIR(about.st_mode)) return Error{std::strerror(EISDIR)};
  if (limits.is_regular && !S_ISREG(about.st_mode)) return Error{"it is not a regular file"};
  // From here on a pipe is read as its writer writes.
  if (::fcntl(file.get(), F_SETFL, 0) != 0) return last_error();
  std::string text;
  char block[1 << 14];
  for (;;) {
    const ssize_t count = ::read(file.get(), block, sizeof block);
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return last_error();
    text.append(block, static_cast<std::size_t>(count));
    if (text.size() > limits.bytes_max) return Error{fmt::format("it is larger than {} bytes", limits.bytes_max)};
  }
}

Result<std::string> read_file(const std::string& path) {
  Result<std::string> text = read_file_bytes(path);
  if (!text.ok()) return Error{fmt::format("{} cannot be read: {}", path, text.error().message)};
  if (text->empty()) return Error{path + " is empty"};
  return text;
}

Status only_owner_writes(const struct stat& info, bool looks_at_mode) {
  std::string why;
  if (info.st_uid != 0 && info.st_uid != ::geteuid())
    why = fmt::format("owned by uid {}, wanted 0 or {}", info.st_uid, ::geteuid());
  if (looks_at_mode && (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    why += fmt::format("{}mode {:04o} lets {} write", why.empty() ? "" : "; ", info.st_mode & 07777u,
                       (info.st_mode & S_IWOTH) != 0 ? "others" : "its group");
  if (!why.empty()) return Error{std::move(why)};
  return Unit{};
}

}  // namespace berth
