// SPDX-License-Identifier: Apache-2.0
#include "confine/system_call_filter.hpp"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <spdlog/fmt/fmt.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "confine/allowed_calls.hpp"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

namespace berth::confine {
namespace {

constexpr std::uint64_t k_all_of_int = 0xffffffff;
constexpr std::uint64_t k_namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                                       CLONE_NEWPID | static_cast<std::uint64_t>(CLONE_NEWNET);
constexpr std::uint64_t k_socket_kind = 0xf;  // without SOCK_CLOEXEC and SOCK_NONBLOCK
constexpr std::uint64_t k_thread = CLONE_VM | CLONE_THREAD;
// O_TMPFILE without the bit that it shares with O_DIRECTORY.
constexpr std::uint64_t k_writing = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);

/// Rules for one filter of libseccomp, which remembers what went wrong first.
class FilterRules {
 public:
  FilterRules(scmp_filter_ctx filter, const Needs& needs)
      : filter_(filter), writes_(!needs.write.empty() || needs.programs), starts_(needs.programs) {}

  void add(const AllowedCall& call) {
    if (call.who == CallsOf::writers && !writes_) return;
    if (call.who == CallsOf::starters && !starts_) return;
    const int number = seccomp_syscall_resolve_name(call.name);
    if (number < 0) return;  // another machine's
    if (call.has_conditions)
      add_with_conditions(call.name, number);
    else
      allow(number);
  }
  /// 0, or what libseccomp said.
  int error() const noexcept { return error_; }

 private:
  void note(int answer) noexcept {
    if (error_ == 0 && answer < 0) error_ = answer;
  }
  void allow(int number) { note(seccomp_rule_add(filter_, SCMP_ACT_ALLOW, number, 0)); }
  void allow(int number, scmp_arg_cmp condition) {
    note(seccomp_rule_add_array(filter_, SCMP_ACT_ALLOW, number, 1, &condition));
  }
  /// When `bits` of that argument are `value`.
  static scmp_arg_cmp masked(unsigned argument, std::uint64_t bits, std::uint64_t value) {
    return {argument, SCMP_CMP_MASKED_EQ, bits, value};
  }

  void add_with_conditions(std::string_view name, int number) {
    if (name == "clone3") {
      // Its flags are behind a pointer. Where there is no such call, the C library takes clone().
      note(seccomp_rule_add(filter_, SCMP_ACT_ERRNO(ENOSYS), number, 0));
    } else if (name == "clone") {
      allow(number, starts_ ? masked(0, k_namespaces, 0) : masked(0, k_namespaces | k_thread, k_thread));
    } else if (name == "socket") {
      allow_sockets(number);
    } else if (starts_) {
      allow(number);  // a program's arguments are its own
    } else {
      add_narrowed(name, number);
    }
  }
  void allow_sockets(int number) {
    // getaddrinfo() asks for the addresses of this machine.
    const std::array route{masked(0, k_all_of_int, AF_NETLINK), masked(2, k_all_of_int, NETLINK_ROUTE)};
    note(seccomp_rule_add_array(filter_, SCMP_ACT_ALLOW, number, route.size(), route.data()));
    if (starts_) {
      for (const std::uint64_t family : {AF_UNIX, AF_INET, AF_INET6}) allow(number, masked(0, k_all_of_int, family));
      return;
    }
    // TCP and UDP: Landlock knows the ports of nothing else that is a stream, as of Multipath TCP. And none of this
    // machine's own, behind which a container engine does what it is asked; Landlock does not know their paths.
    for (const std::uint64_t family : {AF_INET, AF_INET6})
      for (const auto& [kind, protocol] : {std::pair<std::uint64_t, std::uint64_t>(SOCK_STREAM, 0),
                                           {SOCK_STREAM, IPPROTO_TCP},
                                           {SOCK_DGRAM, 0},
                                           {SOCK_DGRAM, IPPROTO_UDP}}) {
        const std::array rule{masked(0, k_all_of_int, family), masked(1, k_socket_kind, kind),
                              masked(2, k_all_of_int, protocol)};
        note(seccomp_rule_add_array(filter_, SCMP_ACT_ALLOW, number, rule.size(), rule.data()));
      }
  }
  void add_narrowed(std::string_view name, int number) {
    if (name == "open" || name == "openat") {
      if (writes_)
        allow(number);
      else
        allow(number, masked(name == "open" ? 1 : 2, k_writing, O_RDONLY));
    } else if (name == "sendto" || name == "sendmsg" || name == "sendmmsg") {
      // Data with the first packet connects, and Landlock is not asked.
      allow(number, masked(name == "sendmsg" ? 2 : 3, MSG_FASTOPEN, 0));
    } else if (name == "fcntl") {
      // Not those that let the kernel send signals to other processes.
      for (const std::uint64_t what : {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK,
                                       F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW})
        allow(number, masked(1, k_all_of_int, what));
    } else if (name == "tgkill") {
      allow(number, masked(0, k_all_of_int, static_cast<std::uint64_t>(::getpid())));
    } else if (name == "prlimit64") {
      allow(number, {2, SCMP_CMP_EQ, 0, 0});  // no new limit is given
    } else if (name == "prctl") {
      for (const std::uint64_t option : {PR_GET_NAME, PR_SET_NAME, PR_GET_DUMPABLE, PR_SET_VMA})
        allow(number, masked(0, k_all_of_int, option));
    } else if (name == "ioctl") {
      for (const std::uint64_t request : {FIONBIO, FIONREAD, TCGETS, TIOCGWINSZ, SIOCGIFINDEX, SIOCGIFNAME})
        allow(number, masked(1, k_all_of_int, request));
    } else {
      note(-EINVAL);  // a call that says to have conditions, and has none here
    }
  }

  scmp_filter_ctx filter_;
  const bool writes_, starts_;
  int error_ = 0;
};

Error failed(const char* what, int answer) {
  return Error{fmt::format("{}: {}", what, std::strerror(answer < 0 ? -answer : answer))};
}

}  // namespace

Status restrict_system_calls(const Needs& needs, Refusal refusal) {
  const std::uint32_t refused = refusal == Refusal::logged ? SCMP_ACT_LOG : SCMP_ACT_ERRNO(EPERM);
  const std::unique_ptr<void, void (*)(scmp_filter_ctx)> filter(seccomp_init(refused), seccomp_release);
  if (filter == nullptr) return Error{"seccomp: this kernel has no filters of system calls"};
  constexpr std::uint32_t k_binary_tree = 2;
  // Calls of another architecture, as 32-bit ones on x86_64, would not be judged by these numbers.
  for (const auto& [attribute, value] : {std::pair<scmp_filter_attr, std::uint32_t>(SCMP_FLTATR_ACT_BADARCH, refused),
                                         {SCMP_FLTATR_CTL_NNP, 1},
                                         {SCMP_FLTATR_CTL_TSYNC, 1},
                                         // Kernels before 5.16 slow filtered processes down for the sake of those that
                                         // run code of strangers.
                                         {SCMP_FLTATR_CTL_SSB, 1},
                                         {SCMP_FLTATR_CTL_OPTIMIZE, k_binary_tree}})
    if (const int answer = seccomp_attr_set(filter.get(), attribute, value); answer != 0)
      return failed("seccomp_attr_set", answer);
  FilterRules rules(filter.get(), needs);
  for (const AllowedCall& call : allowed_calls()) rules.add(call);
  if (rules.error() != 0) return failed("seccomp_rule_add", rules.error());
  if (const int answer = seccomp_load(filter.get()); answer != 0) return failed("seccomp_load", answer);
  return Unit{};
}

}  // namespace berth::confine
