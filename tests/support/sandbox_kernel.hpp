// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/syscall.h>
#include <unistd.h>

namespace berth::tests {

/// Why the filter of system calls cannot be tested in this build, on this kernel; null: it can.
inline const char* why_no_system_call_filter() {
#if defined(BERTH_SANITIZED)
  return "sanitizers make system calls of their own";
#else
  return ::access("/proc/sys/kernel/seccomp/actions_avail", F_OK) == 0 ? nullptr : "this kernel has no seccomp";
#endif
}

/// The same for all of the sandbox.
inline const char* why_no_sandbox() {
  if (const char* const why = why_no_system_call_filter()) return why;
  // Without a ruleset the call says which version the kernel has.
  return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1) > 0 ? nullptr : "this kernel has no Landlock";
}

}  // namespace berth::tests
