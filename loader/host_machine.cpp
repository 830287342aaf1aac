// SPDX-License-Identifier: Apache-2.0
#include "loader/host_machine.hpp"

#include <elf.h>
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

namespace berth::loader {
namespace {

/// The levels of the x86-64 psABI, by their telling members: CPUs do not mix them.
unsigned x86_level_of_this_cpu() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v2 =
      __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("popcnt");
  const bool v3 =
      v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return v4 ? 4 : v3 ? 3 : v2 ? 2 : 1;
#else
  return 0;
#endif
}

}  // namespace

HostMachine HostMachine::of_this_process() {
  HostMachine host;
#if defined(__x86_64__)
  host.elf_machine = EM_X86_64;
#elif defined(__aarch64__)
  host.elf_machine = EM_AARCH64;
#elif defined(__powerpc64__)
  host.elf_machine = EM_PPC64;
#elif defined(__s390x__)
  host.elf_machine = EM_S390;
#else
#error "an architecture that plugins have not been tried on: name its ELF machine here"
#endif
  host.big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  host.x86_level = x86_level_of_this_cpu();
#if defined(__GLIBC__)
  host.glibc_version = gnu_get_libc_version();
#endif
  return host;
}

}  // namespace berth::loader
