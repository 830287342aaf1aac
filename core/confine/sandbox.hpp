// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "confine/needs.hpp"

namespace berth::confine {

enum class Sandbox : std::uint8_t {
  off,
  warn,     // nothing is refused; the kernel's log has the system calls that `enforce` would refuse
  enforce,  // what is not needed is refused: EACCES of files and ports, EPERM of system calls
};

/// What holds from now on, for every thread and for whatever it starts.
struct Confinement {
  int landlock_version = 0;  // 0: files and ports are not limited
  bool filters_calls = false;
  std::vector<std::string> missing;    // what was to hold and does not, a sentence each
  std::vector<std::string> left_open;  // what this kernel or this configuration leaves open, a sentence each
};

/// Gives up what the process does not need: privileges of programs that it starts (no_new_privs), being looked into by
/// other processes of its user (not dumpable), files and ports (Landlock), system calls (seccomp). Cannot be undone.
/// Threads: called before any other is started. Landlock holds for the calling thread and those that come after it; one
///          that is there already is counted in `missing`.
/// Failure: whatever is to be had holds; the rest is in `missing`.
Confinement confine(const Needs& needs, Sandbox how);

/// Threads of this process, and those of them that no filter of system calls holds.
struct ThreadsSeen {
  std::size_t all = 0, unfiltered = 0;
};
ThreadsSeen look_at_threads();

}  // namespace berth::confine
