// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "config/features.hpp"
#include "framework/services/service_tables.hpp"

namespace berth::framework {

/// The service "berth.gates/1": what of Kubernetes' feature gates plugins can ask for. `features` outlives it.
inline constexpr std::string_view k_gates_id = "berth.gates/1";
framework::HostService gates_service(const config::Features& features);

}  // namespace berth::framework
