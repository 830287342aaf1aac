// SPDX-License-Identifier: Apache-2.0
/// Random UUIDs: of shares, and of claims that exist in memory only.
#pragma once
#include <mutex>
#include <random>
#include <string>

namespace dynamic_resources {

/// Version 4, in lower case. Any thread.
inline std::string new_share_id() {
  static std::mutex mutex;
  static std::mt19937_64 random(std::random_device{}());
  std::uint64_t words[2];
  {
    const std::lock_guard lock(mutex);
    words[0] = random();
    words[1] = random();
  }
  words[0] = (words[0] & ~0xf000ull) | 0x4000ull;
  words[1] = (words[1] & ~(0xc0ull << 56)) | (0x80ull << 56);
  constexpr const char* k_hex = "0123456789abcdef";
  std::string out;
  for (int nibble = 0; nibble < 32; ++nibble) {
    if (nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20) out += '-';
    out += k_hex[words[nibble / 16] >> (60 - nibble % 16 * 4) & 15];
  }
  return out;
}

}  // namespace dynamic_resources
