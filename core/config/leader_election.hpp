// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <string>

#include "config/raw_configuration.hpp"

namespace berth::config {

/// Flags by the field of `leaderElection` that their value was laid over: "leaseDuration" to
/// "--leader-elect-lease-duration".
using ElectionFlags = std::map<std::string, std::string, std::less<>>;

/// Reports what is wrong with an election that is to take place: `election` is what `raw` says, with the values of
/// `flags` over it. Each problem stands where its value does, in the file or on the command line.
/// Source: kubernetes v1.36 component-base/config/validation/validation.go, client-go/tools/leaderelection.
void check_leader_election(const RawConfiguration& raw, const LeaderElection& election, const ElectionFlags& flags,
                           text::Diagnostics& diagnostics);

}  // namespace berth::config
