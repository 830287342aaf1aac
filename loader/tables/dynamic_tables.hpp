// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace berth::loader {

/// What in the tables of a library the dynamic linker would fail over, one sentence each; empty: nothing. It trusts them:
/// where they are wrong it aborts, reads what is not mapped, or does not return, instead of refusing the file.
///
/// Costs time in proportion to the file. Says nothing of what the library's own code does, nor of symbols that others
/// lack: dlopen() answers those. Requires: as MappedImage.
/// Source: glibc 2.36 elf/ (dl-load.c, dl-version.c, dl-lookup.c, dynamic-link.h, dl-init.c) and sysdeps/x86/dl-prop.h.
std::vector<std::string> table_defects(std::span<const std::byte> bytes);

}  // namespace berth::loader
