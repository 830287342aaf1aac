// SPDX-License-Identifier: Apache-2.0
#include "confine/stranger.hpp"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include "confine/landlock.hpp"

namespace berth::confine {
namespace {

/// What code may do that only computes. Those of k_narrowed have conditions.
constexpr std::array k_running = {
    // Memory, without making it code.
    "brk", "munmap", "mremap", "madvise",
    // Waiting for the other side, and time.
    "futex", "clock_gettime", "clock_getres", "gettimeofday", "clock_nanosleep", "nanosleep", "sched_yield",
    "restart_syscall",
    // The end.
    "exit", "exit_group", "rt_sigreturn", "rt_sigprocmask", "rt_sigaction", "sigaltstack",
    // What the process knows of itself.
    "getpid", "gettid", "getcpu", "sched_getaffinity", "getrandom", "getuid", "geteuid", "getgid", "getegid"};

/// What the loader needs besides: files that are read, the copy of a file in sealed memory, the thread that watches the time,
/// and the second step.
constexpr std::array k_loading = {"mmap",
                                  "mprotect",
                                  "access",
                                  "faccessat",
                                  "faccessat2",
                                  "close",
                                  "close_range",
                                  "dup",
                                  "fcntl",
                                  "fstat",
                                  "fstatfs",
                                  "ftruncate",
                                  "getdents64",
                                  "getcwd",
                                  "lseek",
                                  "lstat",
                                  "memfd_create",
                                  "newfstatat",
                                  "pipe2",
                                  "poll",
                                  "pread64",
                                  "prctl",
                                  "read",
                                  "readv",
                                  "readlink",
                                  "readlinkat",
                                  "rseq",
                                  "seccomp",
                                  "sendfile",
                                  "copy_file_range",
                                  "set_robust_list",
                                  "stat",
                                  "statfs",
                                  "statx",
                                  "sysinfo",
                                  "uname",
                                  "write",
                                  "writev",
                                  "membarrier",
                                  "getppid",
                                  "prlimit64",
                                  "getrlimit",
                                  "setrlimit",
                                  "arch_prctl",
                                  "set_tid_address",
                                  "landlock_create_ruleset",
                                  "landlock_add_rule",
                                  "landlock_restrict_self"};

constexpr std::uint64_t k_all_of_int = 0xffffffff;
constexpr std::uint64_t k_thread = CLONE_VM | CLONE_THREAD;
constexpr std::uint64_t k_namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                       CLONE_NEWPID | static_cast<std::uint64_t>(CLONE_NEWNET);
constexpr std::uint64_t k_descriptor_max = 2;
constexpr std::uint64_t k_writing = O_ACCMODE | O_CREAT | O_TRUNC;

class Filter {
 public:
  Filter() : filter_(seccomp_init(SCMP_ACT_KILL_PROCESS), seccomp_release) {
    if (filter_ == nullptr) error_ = -ENOMEM;
    note(filter_ == nullptr ? 0 : seccomp_attr_set(filter_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
    note(filter_ == nullptr ? 0 : seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_NNP, 1));
    note(filter_ == nullptr ? 0 : seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_TSYNC, 1));
    // Mitigations of Spectre are switched on for code of strangers where the kernel leaves it to the filter.
  }
  void allow(std::span<const char* const> names) {
    for (const char* const name : names) rule(SCMP_ACT_ALLOW, name, {});
  }
  void allow(const char* name, scmp_arg_cmp condition) { rule(SCMP_ACT_ALLOW, name, {&condition, 1}); }
  void refuse(const char* name, int error) { rule(SCMP_ACT_ERRNO(static_cast<unsigned>(error)), name, {}); }
  Status load() {
    if (error_ == 0) note(seccomp_load(filter_.get()));
    if (error_ == 0) return Unit{};
    return Error{fmt::format("system calls cannot be limited: {}", std::strerror(-error_))};
  }

 private:
  void note(int answer) noexcept {
    if (error_ == 0 && answer < 0) error_ = answer;
  }
  void rule(std::uint32_t action, const char* name, std::span<const scmp_arg_cmp> conditions) {
    if (error_ != 0) return;
    const int number = seccomp_syscall_resolve_name(name);
    if (number < 0) return;  // another machine's
    note(seccomp_rule_add_array(filter_.get(), action, number, static_cast<unsigned>(conditions.size()),
                                conditions.data()));
  }

  std::unique_ptr<void, void (*)(scmp_filter_ctx)> filter_;
  int error_ = 0;
};

scmp_arg_cmp masked(unsigned argument, std::uint64_t bits, std::uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, bits, value};
}

Status set_limit(int resource, const char* name, rlim_t value) {
  const rlimit limit{value, value};
  if (::setrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0) return Unit{};
  return Error{fmt::format("{} cannot be limited: {}", name, std::strerror(errno))};
}

}  // namespace

Status confine_loading_stranger(const StrangerLimits& limits, const std::vector<std::string>& readable) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return Error{fmt::format("no_new_privs cannot be set: {}", std::strerror(errno))};
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
    return Error{fmt::format("other processes cannot be kept from looking in: {}", std::strerror(errno))};
  if (Status done = set_limit(RLIMIT_CORE, "the core file", 0); !done.ok()) return done;
  if (Status done = set_limit(RLIMIT_NOFILE, "open files", static_cast<rlim_t>(limits.files)); !done.ok()) return done;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose shadow is memory as well
  if (Status done = set_limit(RLIMIT_DATA, "memory", limits.data_bytes); !done.ok()) return done;
#endif
  if (landlock_version() > 0) {
    Needs needs;
    needs.read = readable;
    for (const char* const libraries :
         {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/proc/self", "/sys/devices/system/cpu"})
      needs.read.emplace_back(libraries);
    needs.connect.emplace();
    if (Status done = restrict_files_and_ports(needs); !done.ok()) return done;
  }
  Filter filter;
  filter.allow(k_running);
  filter.allow(k_loading);
  filter.allow("clone", masked(0, k_namespaces | k_thread, k_thread));
  filter.refuse("clone3", ENOSYS);  // the C library then takes clone, whose flags can be looked at
  filter.allow("open", masked(1, k_writing, O_RDONLY));
  filter.allow("openat", masked(2, k_writing, O_RDONLY));
  filter.refuse("ioctl", ENOTTY);
  filter.allow("tgkill", masked(0, k_all_of_int, static_cast<std::uint64_t>(::getpid())));
  return filter.load();
}

Status confine_running_stranger() {
  Filter filter;
  filter.allow(k_running);
  filter.allow("mmap", masked(2, PROT_EXEC, 0));
  filter.allow("mprotect", masked(2, PROT_EXEC, 0));
  for (const char* const name : {"write", "writev"}) filter.allow(name, {0, SCMP_CMP_LE, k_descriptor_max, 0});
  filter.allow("tgkill", masked(0, k_all_of_int, static_cast<std::uint64_t>(::getpid())));
  // Where the C library prints it asks what a descriptor is, and does without an answer.
  for (const char* const name : {"fstat", "newfstatat", "ioctl"}) filter.refuse(name, EACCES);
  return filter.load();
}

}  // namespace berth::confine
