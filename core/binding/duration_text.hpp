// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace berth::binding {

/// A duration as Go prints it: "5m0s", "1h0m0.5s", "1.5ms", "0s". Texts that upstream also prints use it.
std::string duration_text(std::int64_t duration_ns);

}  // namespace berth::binding
