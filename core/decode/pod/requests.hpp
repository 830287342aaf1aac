// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/symbols.hpp"
#include "decode/cursor.hpp"
#include "decode/decode_options.hpp"
#include "model/resources.hpp"

namespace berth::decode {

/// What a pod asks for, from its spec and status, in all of the sums that scheduling uses. Internal to core/decode.
///
/// Sums are exact decimals, rounded once at the end: two containers of 500u cpu ask for 1m together.
/// `defaulting`: requests that are missing are taken from limits, and quantities are rounded up to 10^-3, as the API
/// server does. Source: kubernetes v1.36 staging/src/k8s.io/component-helpers/resource/helpers.go (PodRequests), which
/// of its options where, and with which gates:
///         pkg/scheduler/framework/types.go (effective, nonzero), plugins/noderesources/fit.go (request) and
///         resource_allocation.go (scoring). Departs: nothing is ever added to the pod's own quantities.
model::PodRequests decode_requests(const Cursor& spec, const Cursor& status, bool defaulting, const FieldGates& gates,
                                   SymbolTable& symbols);

}  // namespace berth::decode
