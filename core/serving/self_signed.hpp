// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace berth::serving {

/// A serving certificate and its key, as PEM.
struct KeyPair {
  std::string certificate;  // the leaf, then the authority that signed it
  std::string key;
  std::string authority;
  friend bool operator==(const KeyPair&, const KeyPair&) = default;
};

/// A key pair for localhost, 127.0.0.1 and the given names and addresses, signed by an authority made for it alone;
/// valid from an hour ago for a year.
/// Source: kubernetes v1.36 staging/src/k8s.io/client-go/util/cert/cert.go (GenerateSelfSignedCertKey).
Result<KeyPair> make_self_signed(const std::vector<std::string>& hosts, std::int64_t wall_ns);

}  // namespace berth::serving
