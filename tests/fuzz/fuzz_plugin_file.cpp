// SPDX-License-Identifier: Apache-2.0
/// Reads arbitrary bytes as an ELF file and its identity notes, and judges them as before loading. Every view that the
/// reader hands out must lie inside the bytes it was given; the sanitizers see to the rest.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "loader/elf/elf_policy.hpp"
#include "loader/elf/plugin_note.hpp"

namespace {

void expect_inside(std::span<const std::byte> bytes, std::string_view view) {
  const auto* first = reinterpret_cast<const char*>(bytes.data());
  if (!view.empty() && (view.data() < first || view.data() + view.size() > first + bytes.size())) std::abort();
}

void judge(std::span<const std::byte> bytes) {
  static const berth::loader::FileRules rules = [] {
    berth::loader::FileRules made;
    made.machine = berth::loader::HostMachine::of_this_process();
    made.product = "berth";
    return made;
  }();
  berth::loader::PluginFile file;
  if (const auto elf = berth::loader::judge_elf(bytes, rules.machine, file)) judge_notes(*elf, rules, file);
  for (const berth::loader::Finding& finding : file.findings) {
    if (berth::loader::render(finding).empty()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  judge(bytes);
  berth::loader::ElfDefect defect;
  const auto file = berth::loader::ElfFile::read(bytes, defect);
  if (!file) {
    if (defect.sentence.empty()) std::abort();
    return 0;
  }
  expect_inside(bytes, file->soname);
  for (const std::string_view name : file->needed) expect_inside(bytes, name);
  for (const std::string_view name : file->exported) expect_inside(bytes, name);
  for (const auto& need : file->version_needs) {
    expect_inside(bytes, need.library);
    expect_inside(bytes, need.version);
  }
  for (const auto& note : file->notes) {
    expect_inside(bytes, note.owner);
    expect_inside(bytes, {reinterpret_cast<const char*>(note.descriptor.data()), note.descriptor.size()});
  }
  const auto notes = berth::loader::read_plugin_notes(*file);
  if (notes.plugins.size() + notes.defects.size() > file->notes.size()) std::abort();
  return 0;
}
