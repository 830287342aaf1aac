// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::loader {

/// Who may sign plugin files: an Ed25519 key as minisign writes it, "RWQ…", the last line of a .pub file.
/// A value. Threads: const.
class PublicKey {
 public:
  /// Base64 of "Ed", eight bytes of a key number, 32 bytes of a key. Fails with what is wrong with it.
  static Result<PublicKey> parse(std::string_view base64);

  /// As minisign shows it, in hexadecimal digits: "3FEE1BCE979E55F".
  std::string number_text() const;

 private:
  friend Status check_signature(std::span<const std::byte>, std::string_view, std::span<const PublicKey>);
  std::array<unsigned char, 8> number_{};
  std::array<unsigned char, 32> key_{};
};

/// The detached signature of FILE.so is FILE.so.minisig in the same folder, and has at most so many bytes.
inline constexpr std::string_view k_signature_suffix = ".minisig";
inline constexpr std::size_t k_signature_bytes_max = 4096;

/// OK when `signature` (the text of a .minisig file) is one of these bytes by one of the keys, and its trusted comment is
/// signed too. Fails with what is wrong: a text that is no signature, an unknown key, other bytes.
/// Source: https://jedisct1.github.io/minisign/, "Signature format". Agrees with minisign 0.11, of prehashed signatures ("ED":
/// Ed25519 of the BLAKE2b-512 of the file) and of those of the file itself ("Ed").
Status check_signature(std::span<const std::byte> bytes, std::string_view signature, std::span<const PublicKey> keys);

}  // namespace berth::loader
