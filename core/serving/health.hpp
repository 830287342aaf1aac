// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "serving/https_server.hpp"

namespace berth::serving {

/// One thing that must be so. Called on any thread, often.
struct HealthCheck {
  std::string name;
  std::function<Status()> check;
};

/// Routes of one health endpoint ("healthz", "livez", "readyz") and of its single checks. Reasons of a failure are only
/// logged, but for a single check that somebody asks for.
/// Source: kubernetes v1.36 staging/src/k8s.io/apiserver/pkg/server/healthz/healthz.go.
std::vector<Route> health_routes(const std::string& endpoint, const std::vector<HealthCheck>& checks);

}  // namespace berth::serving
