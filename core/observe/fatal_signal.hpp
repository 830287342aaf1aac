// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <string>

namespace berth::observe {

/// Answers "whose fault?" when the process dies of SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT: one line to standard
/// error and to `record_file`, then the signal's default action, so that exit status and core file stay what they would
/// be.
///
///   berth: SIGSEGV in plugin example.com/RackSpread 1.2.0 (rack-spread.so+0x1a40, build id 9a22…) filter, pod
///   batch/job-7, nodes 4096..5119
///
/// The plugin comes from the thread's breadcrumb; without one, the address is looked up in the load map, and when that
/// does not know it (a library that is just being loaded) in the kernel's list of mappings. Threads: install once at
/// start, before other threads. The handler itself only uses async-signal-safe functions.
struct FatalSignalOptions {
  std::string record_file = "/dev/termination-log";  // appended to when it exists and can be written; empty: none
};
void install_fatal_signal_report(const FatalSignalOptions& options);

/// Puts the report back where other code has installed another handler or the default action since, and the signal stack
/// that the calling thread had, if it had one. The names of the signals that were changed, "SIGSEGV, SIGBUS"; empty: none,
/// or nothing was installed. Threads: any.
std::string restore_fatal_signal_report();

/// From now on reports say `path` of an object that the dynamic linker knows as `loaded_as` and the kernel as
/// `mapped_as`, since it was loaded from a copy in memory. Texts live as long as the process. At most 512 objects.
void name_mapped_object(const char* loaded_as, const char* mapped_as, const char* path);

/// Memory that cannot be read, and what a report adds when a plugin has touched it: ", reads a field …". One range; it and the
/// text live as long as the process. Threads: any, once.
void name_trap(const void* begin, std::size_t bytes, const char* text) noexcept;

/// Takes down where every shared object is mapped now. Call after loading plugins; cheap, may be repeated.
/// Not async-signal-safe: that is why the handler needs the table. At most 512 objects, later ones are not named.
void refresh_load_map();

/// A signal stack for the calling thread, so that a stack overflow can be reported too. Hold one for the life of each
/// thread that calls plugins; install_fatal_signal_report() gives one to the thread that calls it.
class SignalStack {
 public:
  SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;
  ~SignalStack();

 private:
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace berth::observe
