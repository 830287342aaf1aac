// SPDX-License-Identifier: Apache-2.0
#include "cluster/kube/base64.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <cctype>
#include <limits>

namespace berth::cluster::kube {

std::optional<std::string> decode_base64(std::string_view text) {
  std::string packed;
  std::copy_if(text.begin(), text.end(), std::back_inserter(packed),
               [](unsigned char c) { return std::isspace(c) == 0; });
  if (packed.empty()) return std::string();
  if (packed.size() % 4 != 0 || packed.size() > std::numeric_limits<int>::max()) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && packed[packed.size() - 1 - padding] == '=') ++padding;
  std::string out(packed.size() / 4 * 3, '\0');
  const int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(packed.data()), static_cast<int>(packed.size()));
  if (size < 0) return std::nullopt;
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

std::string encode_base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

}  // namespace berth::cluster::kube
