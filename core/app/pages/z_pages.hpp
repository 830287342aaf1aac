// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "serving/https_server.hpp"

namespace berth::app {

/// What /statusz and /flagz tell of a component.
struct ZPagesParts {
  const Clock& clock;  // outlives the routes
  std::string component = "kube-scheduler";
  std::int64_t started_wall_ns = 0;
  std::string compiler;                                         // where kube-scheduler names its version of Go
  std::string binary_version;                                   // "v1.36.2"
  std::string emulation_version;                                // "1.36"
  std::vector<std::string> paths = {};                          // that /statusz lists, sorted
  std::vector<std::pair<std::string, std::string>> flags = {};  // names without dashes, and values; sorted
  bool has_statusz = true, has_flagz = true;                    // as the gates ComponentStatusz and ComponentFlagz say
};

/// /statusz and /flagz: as text, or as objects of config.k8s.io in JSON, YAML or CBOR for callers whose Accept header
/// names group, version (v1beta1, or v1alpha1 with a Warning header) and kind; 406 with a v1.Status for all others.
/// Strings in CBOR are byte strings, as Kubernetes writes them.
/// Threads: handlers run on the server's threads and share nothing that changes.
/// Source:  kubernetes v1.36 staging/src/k8s.io/apiserver/pkg/server/{statusz,flagz} and endpoints/handlers/negotiation.
///          Departs: CBOR needs no feature gate; JSON is never indented; what separates a name from its value in the
///          text is always the same.
std::vector<serving::Route> z_routes(const ZPagesParts& parts);

}  // namespace berth::app
