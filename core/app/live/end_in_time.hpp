// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <functional>
#include <memory>

#include "cluster/kube/lease/reign.hpp"

/// Ends of the process that come whatever hangs. Each is on a thread of its own that waits for nothing but time: no lock
/// of another component, no reader of the log, no plugin.
namespace berth::app {

/// Ends the process after that time, with this status. What is logged from here on is not waited for.
/// `status` may log, and takes no lock.
void end_after(std::chrono::milliseconds limit, std::function<int()> status);

/// Ends the process at once. Who reads the log has a moment for what waits.
[[noreturn]] void end_now(int status) noexcept;

/// From here on a process that the system has no thread or no memory for, where that ends it, says so and ends with status
/// 1 instead of as one that crashed.
void explain_ends_for_want_of_resources() noexcept;

/// Ends the process when the reign has been over for `grace`, whatever its owner does about that meanwhile.
void end_with(std::shared_ptr<const cluster::kube::Reign> reign, std::chrono::milliseconds grace,
              std::function<int()> status);

}  // namespace berth::app
