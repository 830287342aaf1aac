// SPDX-License-Identifier: Apache-2.0
#include "confine/allowed_calls.hpp"

#include <array>

namespace berth::confine {
namespace {

constexpr CallsOf k_writers = CallsOf::writers, k_starters = CallsOf::starters;

constexpr AllowedCall with_conditions(const char* name) { return {name, CallsOf::always, true}; }

constexpr std::array k_calls = std::to_array<AllowedCall>({
    // Memory and threads.
    {"brk"},
    with_conditions("clone"),   // threads
    with_conditions("clone3"),  // refused so that the C library takes clone, whose flags can be looked at
    {"exit"},
    {"exit_group"},
    {"futex"},
    {"getcpu"},
    {"gettid"},
    {"madvise"},
    {"membarrier"},
    {"mmap"},
    {"mprotect"},
    {"mremap"},
    {"munmap"},
    with_conditions("prctl"),
    {"rseq"},
    {"sched_getaffinity"},
    {"sched_yield"},
    {"set_robust_list"},
    // Time.
    {"clock_getres"},
    {"clock_gettime"},
    {"clock_nanosleep"},
    {"gettimeofday"},
    {"nanosleep"},
    {"timerfd_create"},
    {"timerfd_settime"},
    // Signals: those that berth waits for, and the report of a fatal one.
    {"pause"},
    {"restart_syscall"},
    {"rt_sigaction"},
    {"rt_sigprocmask"},
    {"rt_sigreturn"},
    {"rt_sigtimedwait"},
    {"sigaltstack"},
    with_conditions("tgkill"),
    // What the kernel says of the process and the machine.
    {"getcwd"},
    {"getegid"},
    {"geteuid"},
    {"getgid"},
    {"getgroups"},
    {"getpid"},
    {"getppid"},
    {"getrandom"},
    {"getresgid"},
    {"getresuid"},
    {"getrlimit"},
    {"getrusage"},
    {"getuid"},
    with_conditions("prlimit64"),
    {"sysinfo"},
    {"uname"},
    // Files that are read.
    {"access"},
    {"close"},
    {"dup"},
    {"faccessat"},
    {"faccessat2"},
    with_conditions("fcntl"),
    {"fstat"},
    {"fstatfs"},
    {"getdents64"},
    with_conditions("ioctl"),
    {"lseek"},
    {"lstat"},
    {"newfstatat"},
    with_conditions("open"),
    with_conditions("openat"),
    {"pread64"},
    {"read"},
    {"readlink"},
    {"readlinkat"},
    {"readv"},
    {"stat"},
    {"statfs"},
    {"statx"},
    {"write"},
    {"writev"},
    // Connections.
    {"accept"},
    {"accept4"},
    {"bind"},
    {"connect"},
    {"epoll_create1"},
    {"epoll_ctl"},
    {"epoll_pwait"},
    {"epoll_pwait2"},
    {"epoll_wait"},
    {"eventfd2"},
    {"getpeername"},
    {"getsockname"},
    {"getsockopt"},
    {"listen"},
    {"poll"},
    {"ppoll"},
    {"recvfrom"},
    {"recvmsg"},
    with_conditions("sendmmsg"),
    with_conditions("sendmsg"),
    with_conditions("sendto"),
    {"setsockopt"},
    {"shutdown"},
    with_conditions("socket"),
    // Files that are written.
    {"fchmod", k_writers},
    {"fchmodat", k_writers},
    {"flock", k_writers},
    {"fsync", k_writers},
    {"ftruncate", k_writers},
    {"mkdir", k_writers},
    {"mkdirat", k_writers},
    {"rename", k_writers},
    {"renameat", k_writers},
    {"renameat2", k_writers},
    {"unlink", k_writers},
    {"unlinkat", k_writers},
    // An exec plugin: how it is started and ended, and what the C library, a shell and Go make of a process.
    {"arch_prctl", k_starters},
    {"capget", k_starters},
    {"chdir", k_starters},
    {"dup2", k_starters},
    {"dup3", k_starters},
    {"execve", k_starters},
    {"kill", k_starters},
    {"pidfd_open", k_starters},
    {"pipe2", k_starters},
    {"set_tid_address", k_starters},
    {"setpgid", k_starters},
    {"setrlimit", k_starters},
    {"umask", k_starters},
    {"wait4", k_starters},
    {"waitid", k_starters},
});

}  // namespace

std::span<const AllowedCall> allowed_calls() noexcept { return k_calls; }

}  // namespace berth::confine
