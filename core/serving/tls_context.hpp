// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <boost/asio/ssl/context.hpp>
#include <map>
#include <memory>
#include <string>

#include "serving/https_server.hpp"

// Internal to core/serving.
namespace berth::serving {

/// What new connections begin with: a context per certificate, which callers choose by the name they ask for.
/// Threads: any, after it was made. Lifetime: outlives the connections that began with it.
struct ServedTls {
  using Context = std::shared_ptr<boost::asio::ssl::context>;
  Context any;  // for names that no other certificate has
  /// By name in lower case; "*.x" stands for one label before ".x".
  std::map<std::string, Context, std::less<>> by_name;
};

/// Callers are asked for a certificate, which the gate judges. Fails on keys that do not fit and on unknown versions,
/// cipher suites and curves; a curve that kube-scheduler has and this OpenSSL lacks is a warning in the log.
/// Source: kubernetes v1.36 staging/src/k8s.io/apiserver/pkg/server/dynamiccertificates (named_certificates.go).
/// Departs: names alone choose; a caller that asks for none gets `any`, whatever address it came to.
Result<std::shared_ptr<ServedTls>> make_tls(const ServingKeys& keys, const HttpsServerOptions& options);

}  // namespace berth::serving
