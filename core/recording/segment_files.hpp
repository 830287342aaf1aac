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

inline constexpr std::size_t k_segments = 16;         // a recording has room for so many whole ones
inline constexpr std::size_t k_segments_max = 1'000;  // and for so many in all: a short run leaves a small one
/// Later ones have no name that is one of a segment.
inline constexpr std::uint64_t k_segment_number_max = std::uint64_t{1} << 62;
inline constexpr std::size_t k_total_bytes_min = std::size_t{1} << 20;
inline constexpr std::size_t k_total_bytes_max = k_segments * k_segment_bytes_max;

/// Names of the segment files of a directory, oldest first; nothing else that is there. Fails where it cannot be
/// listed.
Result<std::vector<std::string>> segment_names(const std::string& directory);
std::string segment_name(std::uint64_t number);
/// 0 for anything else than the name of a segment, whose number is k_segment_number_max at most.
std::uint64_t number_in(std::string_view file_name) noexcept;

/// Segments in a directory of their own: written one after the other, the oldest removed once what was written needs its
/// room. Where nothing can be written, nothing is removed.
///
/// Budget:    total_bytes, and what one append() adds before the oldest goes.
/// Ownership: the directory is its own while it lives (a lock on the file "lock"); only files named as segments are
///            removed.
/// Threads:   one. Failure: says what could not be done; the file at hand is closed then, with what was appended before,
///            or removed when that is nothing; begin_segment() may be tried again.
class SegmentFiles {
 public:
  SegmentFiles() = default;
  SegmentFiles(SegmentFiles&& other) noexcept;
  SegmentFiles& operator=(SegmentFiles&&) = delete;
  ~SegmentFiles();

  /// Makes the last directory of the path if it is missing. total_bytes: between k_total_bytes_min and
  /// k_total_bytes_max.
  static Result<SegmentFiles> open(const std::string& directory, std::size_t total_bytes);

  /// The file is made and its header written; a directory that is gone is made again. The number of `header` is set here.
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
  /// Makes the file of number_ + 1.
  Status make_file();
  Status lock();
  Status remove_oldest();
  bool is_too_much() const noexcept { return bytes() > k_segments * segment_bytes_ || older_.size() >= k_segments_max; }

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
