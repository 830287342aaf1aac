// SPDX-License-Identifier: Apache-2.0
// Files of strangers: everything that is read of a plugin before any of its code may run.
#include <cstddef>
#include <cstdint>
#include <span>

#include "loader/elf_policy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const berth::loader::FileRules rules = [] {
    berth::loader::FileRules made;
    made.machine = berth::loader::HostMachine::of_this_process();
    made.product = "berth";
    return made;
  }();
  berth::loader::PluginFile file;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto elf = berth::loader::judge_elf(bytes, rules.machine, file)) judge_notes(*elf, rules, file);
  for (const berth::loader::Finding& finding : file.findings) (void)berth::loader::render(finding);
  return 0;
}
