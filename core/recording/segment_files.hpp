// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "recording/frames.hpp"

namespace berth::recording {

inline constexpr std::size_t k_segments = 16;  // a recording has so many at most
inline constexpr std::size_t k_total_bytes_min = std::size_t{1} << 20;
inline constexpr std::size_t k_total_bytes_max = k_segments * k_segment_bytes_max;

/// Names of the segment files of a directory, oldest first; nothing else that is there. Fails where it cannot be
/// listed.
Result<std::vector<std::string>> segment_names(const std::string& directory);
std::string segment_name(std::uint64_t number);
/// 0 for anything else than the name of a segment.
std::uint64_t number_in(std::string_view file_name) noexcept;

/// Segments in a directory of their own: written one after the other, the oldest removed for the next.
///
/// Ownership: the directory is its own while it lives (a lock on the file "lock"); only files named as segments are
///            removed.
/// Threads:   one. Failure: says what could not be done; the file at hand is closed then, and begin_segment() may be
///            tried again.
class SegmentFiles {
 public:
  SegmentFiles() = default;
  SegmentFiles(SegmentFiles&& other) noexcept;
  SegmentFiles& operator=(SegmentFiles&&) = delete;
  ~SegmentFiles();

  /// Makes the last directory of the path if it is missing. total_bytes: between k_total_bytes_min and
  /// k_total_bytes_max.
  static Result<SegmentFiles> open(const std::string& directory, std::size_t total_bytes);

  /// Room for a segment is made and its header written. The number of `header` is set here.
  Status begin_segment(SegmentHeader header);
  bool is_open() const noexcept { return file_ >= 0; }
  /// What the segment at hand can still take.
  std::size_t room() const noexcept { return is_open() ? segment_bytes_ - written_ : 0; }
  /// Requires: is_open(), and not more bytes than room().
  Status append(std::string_view bytes);
  /// Of all segments.
  std::size_t bytes() const noexcept { return kept_bytes_ + written_; }
  std::size_t segment_bytes() const noexcept { return segment_bytes_; }
  /// How many segments that were begun here have been removed again.
  std::uint64_t removed() const noexcept { return removed_; }
  /// The segment at hand gets nothing more.
  void close() noexcept;

 private:
  struct Segment {
    std::string path;
    std::size_t bytes = 0;
    bool is_own = false;  // begun here, not found
  };
  Status fail(const char* what);

  std::string directory_;
  std::size_t segment_bytes_ = 0;
  std::deque<Segment> older_;
  std::size_t kept_bytes_ = 0;  // of those
  std::uint64_t number_ = 0, removed_ = 0;
  std::string path_;
  int lock_ = -1, file_ = -1;
  std::size_t written_ = 0;
};

}  // namespace berth::recording
