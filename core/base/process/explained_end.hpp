// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

namespace berth {

/// Where it is noted that this process has said on standard error why it ends: memory that outlives it, so that who
/// waits for it need not guess. Null: nowhere.
void explain_ends_in(std::atomic<std::uint32_t>* flag) noexcept;

/// Called by code that ends the process and has said why. Async-signal-safe.
void end_is_explained() noexcept;

/// Of a status from waitpid(): "killed by SIGSEGV", "ended with status 3".
std::string how_it_ended(int status);

}  // namespace berth
