// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "app/cli/look_options.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/endpoint.hpp"

namespace berth::app {

/// The API server that a kubeconfig names, or `master`, or, when both are empty, the one of the cluster around us; or
/// all that is wrong, a line each. The clock outlives it.
Result<std::shared_ptr<net::Endpoint>> connect(const std::string& kubeconfig, const std::string& master,
                                               const Clock& clock);

/// The API server of that cluster as that user, or all that is wrong, a line each. The clock outlives it.
Result<std::shared_ptr<net::Endpoint>> connect(const ClusterAddress& cluster, const Clock& clock);
/// The scheduler's port as the same user. Only HTTPS: what a user is known by is sent there.
Result<std::shared_ptr<net::Endpoint>> connect_to_scheduler(const SchedulerAddress& scheduler,
                                                            const ClusterAddress& cluster, const Clock& clock);

/// The API server of the cluster around us; null when we run in none, or its files cannot be used, which is logged.
std::shared_ptr<net::Endpoint> connect_around_us(const Clock& clock);

}  // namespace berth::app
