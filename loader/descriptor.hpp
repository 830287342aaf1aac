// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "berth/abi/host.h"
#include "loader/elf/plugin_note.hpp"
#include "loader/findings.hpp"

namespace berth::loader {

/// Asks the kernel whether bytes can be read, by letting it copy from them: a pointer that a plugin made up gives a
/// finding instead of a crash. Pages are probed once each. Threads: one at a time.
class MemoryProbe {
 public:
  MemoryProbe();
  MemoryProbe(const MemoryProbe&) = delete;
  MemoryProbe& operator=(const MemoryProbe&) = delete;
  ~MemoryProbe();
  /// errno, when it cannot ask; then nothing is readable. 0: it can.
  int error() const noexcept { return error_; }
  bool readable(const void* at, std::size_t bytes) const;
  /// Length of the NUL-terminated text at `at`; false when it runs into unreadable memory or beyond `bytes_max`.
  bool text(const char* at, std::size_t bytes_max, std::string& out) const;

 private:
  int ends_[2] = {-1, -1};
  int error_ = 0;
};

/// What a descriptor is compared with.
struct DescriptorRules {
  const std::vector<PluginNote>* notes = nullptr;  // null: linked in, there is no note
  const std::vector<std::string>* host_services = nullptr;
  std::string product;
};

/// Judges what the entry symbol returned: plausible sizes and pointers, names (P017), agreement with the notes (P016),
/// complete ops tables (P043), and for linked-in libraries required services (P013). Findings start as copies of
/// `context`, which says which file is meant. Ids of points that this host does not know are warnings.
void judge_descriptor(const berth_library_v1* library, const DescriptorRules& rules, const Finding& context,
                      LoadReport& report);

}  // namespace berth::loader
