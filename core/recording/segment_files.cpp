// SPDX-License-Identifier: Apache-2.0
#include "recording/segment_files.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

namespace berth::recording {
namespace {

constexpr std::string_view k_prefix = "berth-", k_suffix = ".rec";
constexpr std::size_t k_digits = 16;
constexpr std::size_t k_names_max = 100'000;  // in a directory

std::string words_of(int error) { return std::strerror(error); }

}  // namespace

std::string segment_name(std::uint64_t number) { return fmt::format("{}{:016x}{}", k_prefix, number, k_suffix); }

std::uint64_t number_in(std::string_view file_name) noexcept {
  if (file_name.size() != k_prefix.size() + k_digits + k_suffix.size() || !file_name.starts_with(k_prefix) ||
      !file_name.ends_with(k_suffix))
    return 0;
  std::uint64_t number = 0;
  const char* const first = file_name.data() + k_prefix.size();
  const auto read = std::from_chars(first, first + k_digits, number, 16);
  return read.ec == std::errc() && read.ptr == first + k_digits ? number : 0;
}

Result<std::vector<std::string>> segment_names(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> names;
  std::size_t seen = 0;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (++seen > k_names_max) return Error{fmt::format("{} has more than {} files", directory, k_names_max)};
    std::string name = at->path().filename().string();
    if (number_in(name) != 0) names.push_back(std::move(name));
  }
  if (error) return Error{fmt::format("{}: {}", directory, error.message())};
  std::sort(names.begin(), names.end());  // numbers have all their digits
  return names;
}

SegmentFiles::SegmentFiles(SegmentFiles&& other) noexcept
    : directory_(std::move(other.directory_)),
      segment_bytes_(other.segment_bytes_),
      older_(std::move(other.older_)),
      kept_bytes_(other.kept_bytes_),
      number_(other.number_),
      removed_(other.removed_),
      path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      file_(std::exchange(other.file_, -1)),
      written_(other.written_) {}

SegmentFiles::~SegmentFiles() {
  close();
  if (lock_ >= 0) ::close(lock_);
}

Result<SegmentFiles> SegmentFiles::open(const std::string& directory, std::size_t total_bytes) {
  SegmentFiles made;
  made.directory_ = directory;
  made.segment_bytes_ = std::clamp(total_bytes, k_total_bytes_min, k_total_bytes_max) / k_segments;
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return Error{fmt::format("{}: {}", directory, words_of(errno))};
  const std::string lock = directory + "/lock";
  made.lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (made.lock_ < 0) return Error{fmt::format("{}: {}", lock, words_of(errno))};
  if (::flock(made.lock_, LOCK_EX | LOCK_NB) != 0)
    return Error{
        fmt::format("{}: {}", directory, errno == EWOULDBLOCK ? "another process records there" : words_of(errno))};
  const Result<std::vector<std::string>> names = segment_names(directory);
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    Segment segment{directory + "/" + name};
    struct stat found {};
    if (::stat(segment.path.c_str(), &found) == 0) segment.bytes = static_cast<std::size_t>(found.st_size);
    made.kept_bytes_ += segment.bytes;
    made.older_.push_back(std::move(segment));
    made.number_ = number_in(name);
  }
  return made;
}

void SegmentFiles::close() noexcept {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

Status SegmentFiles::fail(const char* what) {
  const int error = errno;
  close();
  return Error{fmt::format("{}: cannot {}: {}", path_, what, words_of(error))};
}

Status SegmentFiles::begin_segment(SegmentHeader header) {
  close();
  if (!path_.empty()) {
    older_.push_back({path_, written_, true});
    kept_bytes_ += written_;
    path_.clear();
    written_ = 0;
  }
  // By bytes too: those of an earlier run may be of another size.
  while (!older_.empty() &&
         (older_.size() >= k_segments || kept_bytes_ + segment_bytes_ > k_segments * segment_bytes_)) {
    if (::unlink(older_.front().path.c_str()) != 0 && errno != ENOENT)
      return Error{fmt::format("{}: cannot remove: {}", older_.front().path, words_of(errno))};
    kept_bytes_ -= older_.front().bytes;
    removed_ += older_.front().is_own ? 1 : 0;
    older_.pop_front();
  }
  header.number = ++number_;
  path_ = directory_ + "/" + segment_name(number_);
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file_ < 0) {
    const Status failed = fail("make it");
    path_.clear();
    return failed;
  }
  return append(header_bytes(header));
}

Status SegmentFiles::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file_, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote == 0) errno = ENOSPC;
    if (wrote <= 0) return fail("write to it");
    written_ += static_cast<std::size_t>(wrote);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return Unit{};
}

}  // namespace berth::recording
