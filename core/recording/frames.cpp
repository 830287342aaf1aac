// SPDX-License-Identifier: Apache-2.0
#include "recording/frames.hpp"

#include <spdlog/fmt/fmt.h>
#include <zlib.h>

namespace berth::recording {
namespace {

constexpr std::string_view k_magic = "BERTHREC";
constexpr std::uint16_t k_flag_begins_run = 1;

template <typename T>
void append(std::string& out, T value) {
  auto bits = static_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < sizeof value; ++i, bits >>= 8) out += static_cast<char>(bits & 0xff);
}

/// Requires: the bytes are there.
template <typename T>
T read(std::string_view bytes, std::size_t at) noexcept {
  std::uint64_t bits = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) bits = bits << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  return static_cast<T>(bits);
}

std::uint32_t checksum(std::string_view bytes) noexcept {
  return static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

}  // namespace

std::string header_bytes(const SegmentHeader& header) {
  std::string body;
  append(body, header.run);
  append(body, header.number);
  append(body, header.wall_ns);
  append(body, header.monotonic_ns);
  std::string out(k_magic);
  append(out, k_version);
  const std::uint16_t flags = header.begins_run ? k_flag_begins_run : 0;
  append(out, flags);
  std::string checked = body;
  append(checked, flags);
  append(out, checksum(checked));
  return out + body;
}

Result<SegmentHeader> read_header(std::string_view segment) {
  if (segment.size() < k_header_bytes) return Error{"it is too short for a recording"};
  if (segment.substr(0, k_magic.size()) != k_magic) return Error{"it is no recording"};
  const auto version = read<std::uint16_t>(segment, 8);
  if (version < k_oldest_version || version > k_version)
    return Error{fmt::format("it is of version {}; this berth reads {} to {}", version, k_oldest_version, k_version)};
  const std::string_view body = segment.substr(16, k_header_bytes - 16);
  const std::string checked = std::string(body) + std::string(segment.substr(10, 2));
  if (read<std::uint32_t>(segment, 12) != checksum(checked)) return Error{"its header is damaged"};
  return SegmentHeader{read<std::uint64_t>(body, 0), read<std::uint64_t>(body, 8), read<std::int64_t>(body, 16),
                       read<std::int64_t>(body, 24), (read<std::uint16_t>(segment, 10) & k_flag_begins_run) != 0};
}

void append_frame(std::string& out, std::string_view payload) {
  append(out, static_cast<std::uint32_t>(payload.size()));
  append(out, checksum(payload));
  out += payload;
}

std::optional<std::string_view> Frames::next() {
  torn_.clear();
  if (rest_.empty()) return std::nullopt;
  const auto tear = [&](std::string why) {
    torn_ = std::move(why);
    return std::nullopt;
  };
  if (rest_.size() < k_frame_bytes) return tear("the file ends within a record");
  const auto length = read<std::uint32_t>(rest_, 0);
  if (length > k_payload_bytes_max) return tear("a record says that it is larger than any");
  if (length > rest_.size() - k_frame_bytes) return tear("the file ends within a record");
  const std::string_view payload = rest_.substr(k_frame_bytes, length);
  if (read<std::uint32_t>(rest_, 4) != checksum(payload)) return tear("a record is damaged");
  rest_.remove_prefix(k_frame_bytes + length);
  return payload;
}

}  // namespace berth::recording
