// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <optional>
#include <string_view>

namespace berth::serving {

/// SHA-256 of texts, with a salt of its own. Threads: any.
class SaltedDigest {
 public:
  using Value = std::array<unsigned char, 32>;

  SaltedDigest() { RAND_bytes(salt_.data(), static_cast<int>(salt_.size())); }
  /// Nothing when OpenSSL cannot.
  std::optional<Value> of(std::string_view text) const {
    Value out{};
    EVP_MD_CTX* const context = EVP_MD_CTX_new();
    const bool good = context != nullptr && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1 &&
                      EVP_DigestUpdate(context, salt_.data(), salt_.size()) == 1 &&
                      EVP_DigestUpdate(context, text.data(), text.size()) == 1 &&
                      EVP_DigestFinal_ex(context, out.data(), nullptr) == 1;
    EVP_MD_CTX_free(context);
    return good ? std::optional(out) : std::nullopt;
  }

 private:
  Value salt_{};
};

}  // namespace berth::serving
