// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace berth::confine {

/// Who makes a system call: a berth that schedules; one that also writes files; one that also starts programs, and these
/// programs themselves.
enum class CallsOf : std::uint8_t { always, writers, starters };

struct AllowedCall {
  const char* name;  // as libseccomp and Kubernetes' profiles have it
  CallsOf who = CallsOf::always;
  /// Its arguments are looked at as well (system_call_filter.cpp).
  bool has_conditions = false;
};

/// Every call that a confined process may make; all others are refused. A name that a machine does not have is skipped
/// there. conf/deploy/seccomp.json has these and the ones of the start; confine_test holds both against each other.
std::span<const AllowedCall> allowed_calls() noexcept;

}  // namespace berth::confine
