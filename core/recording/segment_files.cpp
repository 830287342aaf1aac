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
  const bool is_number = read.ec == std::errc() && read.ptr == first + k_digits && number <= k_segment_number_max;
  return is_number ? number : 0;
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
  if (const Status locked = made.lock(); !locked.ok()) return locked.error();
  const Result<std::vector<std::string>> names = segment_names(directory);
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    made.number_ = number_in(name);
    Segment segment{directory + "/" + name};
    struct stat found {};
    // Anything else with such a name takes a number, and is left alone.
    if (::lstat(segment.path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    segment.bytes = static_cast<std::size_t>(found.st_size);
    made.kept_bytes_ += segment.bytes;
    made.older_.push_back(std::move(segment));
  }
  return made;
}

void SegmentFiles::close() noexcept {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

Status SegmentFiles::lock() {
  const std::string path = directory_ + "/lock";
  const int lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (lock < 0) return Error{fmt::format("{}: {}", path, words_of(errno))};
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    ::close(lock);
    return Error{
        fmt::format("{}: {}", directory_, error == EWOULDBLOCK ? "another process records there" : words_of(error))};
  }
  if (lock_ >= 0) ::close(lock_);
  lock_ = lock;
  return Unit{};
}

Status SegmentFiles::fail(const char* what) {
  const int error = errno;
  const std::string path = path_;
  if (file_ >= 0 && written_ <= k_header_bytes) {
    // Nothing is in it: its number is that of the next one.
    ::unlink(path_.c_str());
    path_.clear();
    written_ = 0;
    --number_;
  } else if (file_ >= 0) {
    (void)!::ftruncate(file_, static_cast<off_t>(written_));
  }
  close();
  return Error{fmt::format("{}: cannot {}: {}", path, what, words_of(error))};
}

Status SegmentFiles::remove_oldest() {
  const Segment& oldest = older_.front();
  if (::unlink(oldest.path.c_str()) != 0 && errno != ENOENT)
    return Error{fmt::format("{}: cannot remove: {}", oldest.path, words_of(errno))};
  kept_bytes_ -= oldest.bytes;
  removed_ += oldest.is_own ? 1 : 0;
  older_.pop_front();
  return Unit{};
}

Status SegmentFiles::make_file() {
  if (number_ >= k_segment_number_max) return Error{fmt::format("{}: it has segments of all numbers", directory_)};
  path_ = directory_ + "/" + segment_name(number_ + 1);
  const auto make = [&] { return ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600); };
  file_ = make();
  for (std::size_t taken = 0; file_ < 0 && errno == EEXIST && taken < k_segments_max; ++taken) {
    // It came after the directory was looked at: it takes a number, and is left alone.
    if (++number_ >= k_segment_number_max) break;
    path_ = directory_ + "/" + segment_name(number_ + 1);
    file_ = make();
  }
  if (file_ < 0 && errno == ENOENT) {
    // A process that is confined may not do this, as the directory is another one then.
    if (::mkdir(directory_.c_str(), 0700) != 0)
      return Error{fmt::format("{}: it is gone, and cannot be made again before the next start: {}", directory_,
                               words_of(errno))};
    if (Status locked = lock(); !locked.ok()) return locked;
    file_ = make();
  }
  if (file_ < 0) return Error{fmt::format("{}: cannot make it: {}", path_, words_of(errno))};
  ++number_;
  return Unit{};
}

Status SegmentFiles::begin_segment(SegmentHeader header) {
  close();
  if (!path_.empty()) {
    older_.push_back({path_, written_, true});
    kept_bytes_ += written_;
    path_.clear();
    written_ = 0;
  }
  // Only where that failed before.
  while (!older_.empty() && is_too_much())
    if (Status removed = remove_oldest(); !removed.ok()) return removed;
  if (Status made = make_file(); !made.ok()) {
    path_.clear();
    return made;
  }
  header.number = number_;
  return append(header_bytes(header));
}

Status SegmentFiles::append(std::string_view bytes) {
  std::size_t wrote = 0;
  while (wrote < bytes.size()) {
    const ssize_t more = ::write(file_, bytes.data() + wrote, bytes.size() - wrote);
    if (more < 0 && errno == EINTR) continue;
    if (more == 0) errno = ENOSPC;
    if (more <= 0) return fail("write to it");
    wrote += static_cast<std::size_t>(more);
  }
  struct stat file {};
  if (::fstat(file_, &file) == 0 && file.st_nlink == 0) {
    errno = ENOENT;
    written_ = 0;
    return fail("write to it");
  }
  written_ += wrote;
  while (!older_.empty() && is_too_much())
    if (Status removed = remove_oldest(); !removed.ok()) {
      close();
      return removed;
    }
  return Unit{};
}

}  // namespace berth::recording
