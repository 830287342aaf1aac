// SPDX-License-Identifier: Apache-2.0
/// Random UUIDs: of shares, and of claims that exist in memory only.
#pragma once
#include <cstdint>
#include <random>
#include <string>

#include "../../guarded.hpp"

namespace devices {

/// Version 4, in lower case; as unlike others as the seed is. Threads: any.
class RandomIds {
 public:
  explicit RandomIds(std::uint64_t seed) : random_(seed) {}

  std::string next() {
    std::uint64_t words[2];
    {
      const guarded::Lock lock(mutex_);
      words[0] = random_();
      words[1] = random_();
    }
    words[0] = (words[0] & ~std::uint64_t{0xf000}) | 0x4000;
    words[1] = (words[1] & ~(std::uint64_t{0xc0} << 56)) | (std::uint64_t{0x80} << 56);
    constexpr const char* k_hex = "0123456789abcdef";
    std::string out;
    for (int nibble = 0; nibble < 32; ++nibble) {
      if (nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20) out += '-';
      out += k_hex[words[nibble / 16] >> (60 - nibble % 16 * 4) & 15];
    }
    return out;
  }

 private:
  guarded::Mutex mutex_;
  std::mt19937_64 random_ GUARDED_BY(mutex_);
};

}  // namespace devices
