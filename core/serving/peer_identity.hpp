// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <openssl/ssl.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace berth::serving {

/// Who a client certificate is about.
struct PeerIdentity {
  std::string common_name;
  std::vector<std::string> organizations;
};

/// Judges what a caller presented in its handshake, where any certificate is let in.
/// `chain` is PEM, the caller's own certificate first; `authorities` is PEM of those who may sign it. Fails when the
/// chain does not lead there, is out of its time or is not for clients.
/// Source: kubernetes v1.36 staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go.
Result<PeerIdentity> verify_peer(std::string_view chain, std::string_view authorities);

/// What a caller presented, as verify_peer() takes it: its certificate and the first of those that it sent along, since
/// each request reads them again. Empty without one.
std::string peer_chain_of(SSL* connection);

/// True when at least one certificate can be read from `pem`.
bool has_certificate(std::string_view pem);

}  // namespace berth::serving
