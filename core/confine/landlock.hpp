// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/result.hpp"
#include "confine/needs.hpp"

namespace berth::confine {

/// The version of Landlock's interface in this kernel; 0 where there is none, or a filter of system calls refuses it.
int landlock_version() noexcept;

/// What Landlock of that version leaves open, a sentence each.
std::vector<std::string> left_open_by_landlock(int version, const Needs& needs);

/// Lets this thread, and those that it starts from now on, open the files and use the ports that are needed and no
/// others. What is open stays open. Cannot be undone.
/// Requires: landlock_version() > 0; no_new_privs is set. Failure: nothing has changed, and it says which call failed.
/// Source: Documentation/userspace-api/landlock.rst of Linux.
Status restrict_files_and_ports(const Needs& needs);

}  // namespace berth::confine
