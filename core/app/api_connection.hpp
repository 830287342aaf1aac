// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <ostream>
#include <string>

#include "base/clock.hpp"
#include "cluster/kube/endpoint.hpp"

namespace berth::app {

/// The API server that a kubeconfig names, or `master`, or, when both are empty, the one of the cluster around us. Null
/// when there is none, with what is wrong in `err`, a line each. The clock outlives it.
std::shared_ptr<cluster::kube::Endpoint> connect(const std::string& kubeconfig, const std::string& master,
                                                 const Clock& clock, std::ostream& err);

/// The API server of the cluster around us; null when we run in none, or its files cannot be used, which is logged.
std::shared_ptr<cluster::kube::Endpoint> connect_around_us(const Clock& clock);

}  // namespace berth::app
