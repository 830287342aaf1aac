// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

/// The bytes of a segment: a header, and then records, each with its length and checksum. Numbers are little-endian.
///
///   header   "BERTHREC", u16 version, u16 flags, u32 CRC-32 of what follows and the flags, u64 run, u64 number,
///            i64 wall_ns, i64 monotonic_ns; flag 1: it is the first that the process wrote
///   record   u32 length of the payload, u32 CRC-32 of the payload, payload
///
/// What a payload holds: record.hpp. Texts and parts of pods that come again within a segment are written once; no
/// segment needs another to be read.
namespace berth::recording {

inline constexpr std::uint16_t k_version = 3, k_oldest_version = 1;
inline constexpr std::size_t k_header_bytes = 48;
inline constexpr std::size_t k_frame_bytes = 8;  // before each payload
inline constexpr std::size_t k_payload_bytes_max = std::size_t{4}
                                                   << 20;  // larger records are not written, and not read
inline constexpr std::size_t k_segment_bytes_max = std::size_t{64} << 20;

struct SegmentHeader {
  std::uint64_t run = 0;          // a number of the process that wrote it
  std::uint64_t number = 0;       // grows by one from segment to segment
  std::int64_t wall_ns = 0;       // when the segment was begun,
  std::int64_t monotonic_ns = 0;  // and the same moment in the time of the records
  bool begins_run = true;         // it is the first that the process wrote: nothing of it is missing before
  friend bool operator==(const SegmentHeader&, const SegmentHeader&) = default;
};

std::string header_bytes(const SegmentHeader& header);
/// Fails for anything that is no header of this version.
Result<SegmentHeader> read_header(std::string_view segment);

/// Requires: payload has k_payload_bytes_max bytes at most.
void append_frame(std::string& out, std::string_view payload);

/// The payloads of a segment, one after the other, up to the first that is not whole.
class Frames {
 public:
  /// The bytes outlive it; they begin with a header that was read.
  explicit Frames(std::string_view segment) : rest_(segment.substr(k_header_bytes)), size_(segment.size()) {}
  /// Nothing at the end, and where the next record is torn.
  std::optional<std::string_view> next();
  /// Why the last next() found nothing although bytes are left; empty: there are none.
  const std::string& torn() const noexcept { return torn_; }
  /// Where the next record begins.
  std::size_t position() const noexcept { return size_ - rest_.size(); }

 private:
  std::string_view rest_;
  std::size_t size_;
  std::string torn_;
};

}  // namespace berth::recording
