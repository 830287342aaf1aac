// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/result.hpp"
#include "confine/needs.hpp"

namespace berth::confine {

/// What becomes of a call that is not allowed.
enum class Refusal : std::uint8_t {
  logged,  // it is made, and the kernel's log says so
  eperm,   // it fails
};

/// Lets all threads of the process, and all that are started later, make the calls of allowed_calls() that `needs` asks
/// for. Cannot be undone. Sets no_new_privs. Failure: nothing has changed.
Status restrict_system_calls(const Needs& needs, Refusal refusal);

}  // namespace berth::confine
