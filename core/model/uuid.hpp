// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <spdlog/fmt/fmt.h>

#include <cstdint>
#include <random>
#include <string>

namespace berth {

/// A random UUID (version 4) in lower case; as unlike others as the seed is. Nothing secret may hang on it.
inline std::string make_uuid(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::uint64_t a = random(), b = random();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xffff, a & 0xfff,
                     0x8000 | ((b >> 48) & 0x3fff), b & 0xffffffffffff);
}

}  // namespace berth
