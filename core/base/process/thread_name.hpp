// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/prctl.h>

#include <cstddef>

namespace berth {

/// What the system calls a thread: `top -H`, gdb and /proc/PID/task/TID/comm show it. A literal of 1 to 15 characters.
class ThreadName {
 public:
  template <std::size_t N>
  consteval ThreadName(const char (&text)[N]) : text_(text) {  // NOLINT(google-explicit-constructor): reads as a text
    static_assert(N > 1 && N <= 16, "the system keeps 15 characters");
  }
  const char* text() const noexcept { return text_; }

 private:
  const char* text_;
};

/// Of the calling thread, and of those that it starts until they have one of their own. Where the system refuses, the
/// thread has the name of the one that started it.
inline void name_this_thread(ThreadName name) noexcept { (void)::prctl(PR_SET_NAME, name.text(), 0, 0, 0); }

}  // namespace berth
