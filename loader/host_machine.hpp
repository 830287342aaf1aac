// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace berth::loader {

/// What a file must suit. A value, so that tests can be another machine.
struct HostMachine {
  std::uint16_t elf_machine = 0;  // EM_*
  bool big_endian = false;
  unsigned x86_level = 0;     // 1..4 for x86-64-v1..v4; 0 elsewhere
  std::string glibc_version;  // "2.36"; empty when the C library is another one

  static HostMachine of_this_process();
};

}  // namespace berth::loader
